"""Files of exported settings, as a shell reads them."""

import re
import subprocess

from tests.unit.report.export_settings.test_forms import PLACES, content

from becalm.results.export_settings import Where


def test_a_file_of_grub_adds_to_what_there_is(tmp_path):
    path = tmp_path / "90-becalm-12.cfg"
    path.write_text(content("boot"))
    script = f'GRUB_CMDLINE_LINUX_DEFAULT="quiet"; . {path}; echo "$GRUB_CMDLINE_LINUX_DEFAULT"'
    output = subprocess.run(["sh", "-eu", "-c", script], capture_output=True, text=True, check=True).stdout
    assert output == "quiet isolcpus=3 nohz_full=3\n"


def test_the_script_puts_settings_on_and_takes_them_off(tmp_path):
    before = {}
    text = content("script")
    for place in PLACES:
        if place.where in (Where.SYSCTL, Where.FILE, Where.DEBUG):
            target = tmp_path / place.path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{place.before}\n")
            before[target] = (f"{place.before}\n", f"{place.after}\n")
    for folder in ("/proc/", "/sys/"):
        text = re.sub(rf"(?<=\s){folder}", f"{tmp_path}{folder}", text)
    script = tmp_path / "becalm-12"
    script.write_text(text)

    def call(*words):
        return subprocess.run(["sh", str(script), *words], capture_output=True, text=True, check=False)

    assert call("on").returncode == 0
    assert {path: path.read_text() for path in before} == {path: after for path, (_, after) in before.items()}
    assert call("off").returncode == 0
    assert {path: path.read_text() for path in before} == {path: old for path, (old, _) in before.items()}
    assert call().returncode == 2
    gone = next(iter(before))
    gone.unlink()
    gone.mkdir()
    failed = call("on")
    assert failed.returncode == 1
    assert "does not take 10" in failed.stderr
