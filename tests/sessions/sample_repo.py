"""The small invented repository that the recorded agents work in."""

import base64
import shutil
import subprocess
from pathlib import Path

FILES = {
    "README.md": "# Weather desk\n\nPrints the forecast for one town. Start with `python src/a.py`.\n",
    "src/a.py": 'TOWN = "Lillehavn"\n\n\ndef forecast(town):\n    return f"{town}: mild, some rain"\n\n\n'
    "print(forecast(TOWN))\n",
    "src/b.py": "from a import forecast\n\n\ndef all_towns():\n"
    "    return [forecast(t) for t in ('Lillehavn', 'Sandby')]\n",
    "docs/x.md": "# Towns\n\nA town is named as on the map. TODO: say where the map comes from.\n",
    "secrets/api.key": "invented-key-for-the-sample-0001\n",
    "data/towns.csv": "town,days\nLillehavn,3\nSandby,5\n",
    ".env": "FORECAST_TOKEN=invented-token-0002\n",
    ".gitignore": ".env\nsecrets/\n",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
AUTHOR = ["-c", "user.name=Sample", "-c", "user.email=sample@example.invalid", "-c", "commit.gpgsign=false"]


def make(root: Path, *, replace: bool) -> None:
    """Write the repository with one commit; refuse to touch a directory that is there already unless told to."""
    if root.exists():
        if not replace:
            raise SystemExit(f"{root} exists; give --replace to delete and make it anew")
        shutil.rmtree(root)
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "docs/pixel.png").write_bytes(base64.b64decode(PIXEL))
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*AUTHOR, "commit", "-q", "-m", "Forecast for one town"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
