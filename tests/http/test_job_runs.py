"""Runs of scheduled jobs as the REST door shows them, and a person who runs one now."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from stanch.runtime.scripted_reply import say, use
from tests.http.conversing import talking
from tests.http.served import AGENT, BY, until

JOB = {"name": "Daily digest", "cron": "0 0 1 1 *", "prompt": "go", "agent_id": "coder"}


def test_a_person_runs_a_job_and_reads_what_became_of_it(tmp_path: Path) -> None:
    with talking(tmp_path, [use("write_file", path="out", content="x"), say("done"), say("again")]) as talk:
        job = talk.post("/api/jobs", JOB, 201)["id"]
        path = f"/api/jobs/{job}/runs"
        assert talk.get(path) == {"items": [], "total": 0, "next": None}
        run = talk.post(f"/api/jobs/{job}/run", status=201)
        assert (run["state"], run["job_id"], run["outcome"], run["ended_at"]) == ("started", job, None, None)
        request = talk.asked(run["session_id"])
        assert request["context_label"] == "CronJob: Daily digest"
        said = talk.post(f"/api/jobs/{job}/run", status=409)
        assert "goes on" in said["detail"]
        talk.post(f"/api/inbox/approvals/{request['request_id']}/resolve", {"action": "reject"})
        until(lambda: talk.get(path)["items"][0]["state"] == "completed", "the end of the run")
        assert talk.get(path)["items"][0]["outcome"] == "1 call was refused"
        turn = talk.get(f"/api/sessions/{run['session_id']}/turns")["items"][0]
        (refused,) = talk.get(f"/api/turns/{turn['id']}/refused")
        assert (refused["tool"], refused["state"]) == ("write_file", "rejected")
        talk.post(f"/api/jobs/{job}/run", status=201)
        until(lambda: talk.get(path)["items"][0]["state"] == "completed", "the end of the second run")
        first = talk.get(f"{path}?limit=1")
        assert first["total"] == 2
        second = talk.get(f"{path}?limit=1&cursor={first['next']}")
        assert second["items"][0]["session_id"] == run["session_id"]
        assert talk.get(f"{path}?state=failed")["total"] == 0
        assert {row["actor"] for row in talk.get(f"/api/audit?subject={job}&action=job.claim")["items"]} == {"ada"}


def test_a_job_that_is_off_unknown_or_cannot_run(tmp_path: Path) -> None:
    with talking(tmp_path, []) as talk:
        off = talk.post("/api/jobs", JOB | {"enabled": False}, 201)["id"]
        assert "disabled" in talk.post(f"/api/jobs/{off}/run", status=409)["detail"]
        talk.post("/api/jobs/none/run", status=404)
        assert talk.client().get("/api/jobs/none/runs").status_code == 404
        idle = talk.post("/api/jobs", JOB | {"agent_id": "idle"}, 201)["id"]
        run = talk.post(f"/api/jobs/{idle}/run", status=201)
        assert run["state"] == "failed"
        assert "has no model" in run["outcome"]
        talk.client().delete(f"/api/jobs/{idle}")
        assert talk.get(f"/api/jobs/{idle}/runs")["total"] == 1, "runs outlive their job"


def test_an_agent_runs_no_job_and_reads_of_none(tmp_path: Path) -> None:
    with talking(tmp_path, []) as talk:
        job = talk.post("/api/jobs", JOB, 201)["id"]
        agent = talk.client(AGENT)
        assert agent.post(f"/api/jobs/{job}/run").status_code == 403
        assert agent.get(f"/api/jobs/{job}/runs").status_code == 403
        assert agent.get("/api/turns/none/refused").status_code == 403
        assert talk.get(f"/api/jobs/{job}/runs")["total"] == 0


def test_runs_are_shown_as_they_are_due(tmp_path: Path) -> None:
    with talking(tmp_path, []) as talk:
        job = talk.post("/api/jobs", JOB, 201)["id"]
        made = talk.service.jobs.get(job)
        for hour in range(3):
            talk.store.claim_job_run(job, made.created_at + timedelta(hours=hour), talk.service.node.id, by=BY)
        items = talk.get(f"/api/jobs/{job}/runs")["items"]
        assert [one["state"] for one in items] == ["claimed"] * 3
        assert sorted(items, key=lambda one: str(one["due_at"]), reverse=True) == items
