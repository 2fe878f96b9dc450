"""A spawner that is stopped: the agent waits for ten seconds before it gives it up."""

import signal

from tests.contract.agent.test_spawner import check_without_spawner


def test_without_an_answer_of_its_spawner_an_agent_refuses_runs_and_answers(agent):
    check_without_spawner(agent, signal.SIGSTOP)
