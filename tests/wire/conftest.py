"""Wire tests are coroutines; the SMSC they talk to runs once for all of them, and starts each test
with an empty log.
"""

import asyncio
import inspect
from collections.abc import Iterator

import pytest
import uvloop

from tests.support.wire.smsc_peer import Smsc, running_smsc

TEST_S_MAX = 60.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def test_…` in the event loop that the service runs in."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    uvloop.run(asyncio.wait_for(pyfuncitem.obj(**arguments), TEST_S_MAX))
    return True


@pytest.fixture(scope="session")
def _running_smsc() -> Iterator[Smsc]:
    with running_smsc() as smsc:
        yield smsc


@pytest.fixture
def smsc(_running_smsc: Smsc) -> Smsc:
    _running_smsc.reset()
    return _running_smsc
