"""Print the requirements that pyproject.toml names, with those of the extras given as arguments.

Development installs these and nothing of becalm itself: the source tree is on the path.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
wanted = list(project["dependencies"])
for extra in sys.argv[1:]:
    wanted += project["optional-dependencies"][extra]
print("\n".join(wanted))
