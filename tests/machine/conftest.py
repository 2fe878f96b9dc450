"""An agent for each test."""

import pytest
from conversation import Agent


@pytest.fixture
def agent():
    made = Agent()
    yield made
    made.close()
