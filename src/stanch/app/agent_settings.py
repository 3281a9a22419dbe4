"""What an agent of the runtime is like: its model, what its system says to it, its tools.

Settles where each of these comes from: the session, else the agent's table in the policy file. Does not settle what the
model is then shown (`app.sight`).
"""

from __future__ import annotations

from stanch.app.asking import Asking
from stanch.app.live import Live
from stanch.app.memory_agent import memory_agent
from stanch.policy.document import Policy
from stanch.policy.memory_table import MEMORY_AGENT
from stanch.policy.providers import Agent, provider_of
from stanch.runtime.ports import Setting
from stanch.storage.store import Store
from stanch.values.fault import BadFields, Conflict, quoted
from stanch.values.message import Fragment, Message, Role
from stanch.values.records import Actor, SessionRecord

AGENTS = Actor("stanch", "agents")
"""Who gives a session the model that the policy file names for its agent."""
PROMPT = """\
You are an agent at work for a person, with tools that act on their machine. Paths are relative to {directory} unless \
they begin with a slash.
Every call of a tool is judged by rules before it runs. Some wait until a person approves them; some are refused, and \
the answer says why. A refusal is final: do not look for another way to the same end, say what you could not do. Files \
that are withheld from you are counted and not named.
Say in the end, in a few words, what you did and what is left to do."""


class AgentSettings:
    """Knows what the agents of stored sessions are like."""

    def __init__(self, store: Store, live: Live, asking: Asking) -> None:
        self._store, self._live, self._asking = store, live, asking

    def of(self, session_id: str) -> Setting:
        """The setting of the session's next request.

        Raises `NotFound`, and `Conflict` where the session has ended, has no model or one of no known provider, or the
        policy file cannot be read.
        """
        session = self._store.get_session(session_id)
        if session.ended_at is not None:
            raise Conflict(f"the session {quoted(session_id)} has ended")
        if session.model is None:
            where = f"give its agent one in [agents.{session.agent_id}]"
            raise Conflict(f"the session {quoted(session_id)} has no model: name one, as provider/model, or {where}")
        agent = agent_of(self._live.policy, session.agent_id)
        provider_of(session.model, self._live.policy.providers)
        directory, extra = self._surroundings(session_id)
        words = [agent.prompt or PROMPT.format(directory=directory)]
        if extra:
            words.append(extra)
        system = Message(Role.SYSTEM, tuple(Fragment(text) for text in words))
        return Setting(session.agent_id, session.model, (system,), agent.tools, agent.most_steps)

    def _surroundings(self, session_id: str) -> tuple[str, str | None]:
        """Where the session works, and what its context adds to the system prompt."""
        context = self._asking.lineage(session_id)[0].session.context
        return context.effective_working_dir(), context.extra_system_prompt()

    def begin(self, session_id: str) -> SessionRecord:
        """The session, with its agent's model where it had none yet, at the beginning of a turn of it.

        The runtime has set it then, and not whoever asked for the turn. Raises `NotFound`, and `Conflict` where the
        policy file cannot say it.
        """
        session = self._store.get_session(session_id)
        if session.ended_at is None and session.model is None:
            model = agent_of(self._live.policy, session.agent_id).model
            if model is not None:
                session = self._store.set_model(session_id, model, by=AGENTS)
        return session


def agent_of(policy: Policy, name: str) -> Agent:
    """The agent of that name, an ordinary one where the policy file does not tell of it.

    Raises `Conflict` where the file has a mistake in what it says of agents.
    """
    if policy.broken_runtime is not None:
        raise Conflict(
            f"the policy file has a mistake at {policy.broken_runtime}: nobody can tell what its agents are like; "
            "stanch policy check says what is wrong there"
        )
    if name == MEMORY_AGENT and policy.memory is not None:
        return memory_agent(policy.memory)
    return policy.agents.get(name, Agent(name))


def known_agent(policy: Policy, name: str, caller: str) -> Agent:
    """The agent that a subagent is to be: one of the policy file's, or another of the caller's kind.

    Raises `BadFields` for any other name.
    """
    agent = agent_of(policy, name)
    if name not in policy.agents and name != caller:
        known = ", ".join(dict.fromkeys([*policy.agents, caller]))
        raise BadFields(("agent", f"there is no agent {quoted(name)} (known: {known})"))
    return agent
