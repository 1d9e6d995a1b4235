"""Says which database a file of API tests needs, where one of them is enough. All others get
both.
"""

from typing import Final

import pytest

# What these tests look at is decided before anything is stored: forms, paths, headers, pages. Who
# may ask is read by the same statements on both databases, which the tests of keys cover.
ON_SQLITE: Final = pytest.mark.parametrize("api", ["sqlite"], indirect=True)
# PostgreSQL refuses all that SQLite refuses, and a zero octet and large numbers too.
ON_POSTGRESQL: Final = pytest.mark.parametrize("api", ["postgresql"], indirect=True)
