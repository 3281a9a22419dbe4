"""What every store has to do, as one class to be inherited.

from tests.stores.suite import StoreSuite

class TestMine(StoreSuite):
    @pytest.fixture
    def place(self) -> Place: ...
"""

from __future__ import annotations

from tests.stores.suite_audit import AuditLaws
from tests.stores.suite_broken import BrokenRows
from tests.stores.suite_calls import Calls
from tests.stores.suite_changes import Changes
from tests.stores.suite_job_runs import JobRuns
from tests.stores.suite_messages import Conversations
from tests.stores.suite_nouns import Nouns
from tests.stores.suite_receipts import ReceiptLaws
from tests.stores.suite_start import Starting
from tests.stores.suite_turns import Turns
from tests.stores.suite_vault import VaultKept
from tests.stores.suite_vault_values import VaultUsed
from tests.stores.suite_watch import Watching


class StoreSuite(
    Nouns,
    Changes,
    AuditLaws,
    ReceiptLaws,
    BrokenRows,
    Calls,
    Conversations,
    Turns,
    JobRuns,
    VaultKept,
    VaultUsed,
    Starting,
    Watching,
):
    """Inherit it under a name that begins with `Test`, and give it a fixture `place`."""
