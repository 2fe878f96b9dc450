"""The imports of reading the list of studies."""

import subprocess
import sys

import numpy as np
import pytest
from tests.unit.files import region_files
from tests.unit.verbs.test_regions import normal

import becalm


@pytest.fixture
def file(tmp_path):
    """A whole file of two names."""
    path = tmp_path / "x.regions"
    path.write_bytes(region_files.file(np.concatenate([normal(1), normal(2, name=1)]), dropped=7))
    return path


def test_the_list_is_read_without_the_code_of_regions(file, store):
    becalm.import_regions(file)
    shown = "print([each for each in sys.modules if 'becalm' in each and 'region' in each])"
    script = f"import sys, becalm; becalm.list_studies(); {shown}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['becalm.store.region_parts']"
