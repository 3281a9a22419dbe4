"""What a program needs that gives sessions policies and hooks of its own: the records, and policies that ship.

    engine.session(policy=policies.guards("/srv/app/data"))

Settles the public names. What each means is said where it is.
"""

from __future__ import annotations

from stanch.app.policy_factories import approval, guards, inherited_hook
from stanch.policy.layers import Rewrite
from stanch.policy.policies import Hook, Policy, PolicyRequest, Says, Touched, combined
from stanch.values.call import EffectClass, Reach
from stanch.values.decision import Effect

__all__ = ["Effect", "EffectClass", "Hook", "Policy", "PolicyRequest", "Reach", "Rewrite", "Says", "Touched"]
__all__ += ["approval", "combined", "guards", "inherited_hook"]
