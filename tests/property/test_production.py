"""Files for production hold the directives of their settings and no other, whatever texts they are made of."""

import configparser
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.errors import UsageError
from becalm.line import Line
from becalm.profiles import parse, toml_value
from becalm.report.export_settings.forms import FORMS, files
from becalm.report.export_settings.lines import PATTERN
from becalm.report.place_export import _comment
from becalm.results.export_settings import Origin, SettingPlace, Where
from becalm.wording.printable import one_line

HOSTILE = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="a\n\r[]=%$`\\\"'#;:{}*|& \t\u2028\x85", max_size=20),
    st.sampled_from(
        ["quiet\n[Service]\nExecStartPre=/x", "x\n[script]\nscript=/x", "$(touch /x)", "`/x`", '"; /x; "', "a\\", "%n",
         "${f:exec:/x}", "\\${f:exec:/x}", "x; /x", "*; /x", "|/x"]
    ),
)  # fmt: skip
LINES = HOSTILE.map(one_line)


def place(where, path, after, before, text):
    return SettingPlace(text, where, path, after, before, text, text)


@st.composite
def plans(draw):
    """Draw places of every kind with any text in them."""
    text, after, before = draw(LINES), draw(LINES), draw(st.none() | LINES)
    sysfs, cpu = Line(f"/sys/{draw(LINES)}"), Line(f"/sys/devices/system/cpu/cpu0/cpufreq/{draw(LINES)}")
    return [
        place(Where.SYSCTL, Line("/proc/sys/vm/swappiness"), after, before, text),
        place(Where.FILE, sysfs, after, before, text),
        place(Where.FILE, cpu, after, before, text),
        place(Where.DEBUG, Line("/sys/kernel/debug/x"), after, before, text),
        place(Where.FEATURE, Line("/sys/kernel/debug/y"), after, before, text),
        place(Where.LATENCY, Line("/dev/cpu_dma_latency"), Line("20"), None, text),
        place(Where.PROGRAM, Line("Nice"), after, None, text),
        place(Where.BOOT, after, after, None, text),
    ]


def origin_of(text):
    return Origin(Line("becalm-x"), text, (text,), text, text, text, text)


CONTINUED = ("systemd", "boot", "script")
"""The forms of which a backslash at the end of a line joins it with the next."""


def form(name, places, text):
    """Return the lines that a reader obeys, file by file."""
    result = []
    for file in files(origin_of(text), places, name):
        lines = file.content.split("\n")
        assert name not in CONTINUED or not any(line.endswith("\\") for line in lines)
        result.append([line for line in lines if line.strip() and not line.lstrip().startswith("#")])
    return result


@given(plans(), LINES)
def test_a_unit_has_the_directives_of_its_settings_and_no_other(places, text):
    service, latency, drop_in = form("systemd", places, text)
    allowed = r"\[(Unit|Service|Install)\]|(Description|After|RequiresMountsFor|Type|RemainAfterExit|WantedBy)=.*"
    commands = [line for line in service if not re.fullmatch(allowed, line)]
    undone = sum(1 for place in places if place.before is not None)
    assert [command.partition("=")[0] for command in commands] == ["ExecStart"] * 5 + ["ExecStop"] * undone
    for command in commands:
        shell = shlex.split(command.partition("=")[2])
        assert shell[:2] == ["/bin/sh", "-c"]
        assert len(shell) == 3, "one command, quoted as a whole"
        # systemd takes the quotes and the doubled signs away, and the shell reads the rest.
        assert_writes_one_value(shell[2].replace("%%", "%").replace("$$", "$"), places)
    assert [line for line in latency if not re.fullmatch(allowed, line)] == [
        'ExecStart=/bin/sh -c "exec 3> /dev/cpu_dma_latency; echo 00000014 >&3; exec sleep infinity"'
    ]
    assert drop_in[0] == "[Service]"
    assert [line.partition("=")[0] for line in drop_in[1:]] == ["Nice"]
    title = next(line for line in service if line.startswith("Description="))
    assert not set(title) & set("%$`\\\"'[]{}")


def assert_writes_one_value(command, places):
    values = {place.after for place in places} | {place.before for place in places}
    if command.startswith("for f in "):
        pattern = re.fullmatch(r"""for f in (.*); do (echo .*) > "\$f"; done""", command)
        command = f"{pattern[2]} > {pattern[1].replace(PATTERN, '0')}"
    echo, value, redirected, path = shlex.split(command)
    assert (echo, redirected) == ("echo", ">")
    assert value in values
    assert path.startswith("/")


@given(plans(), LINES)
def test_a_profile_of_tuned_has_its_sections_and_no_other(places, text):
    (lines,) = form("tuned", places, text)
    read = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
    read.optionxform = str
    assert [line for line in lines if line.startswith("[")] == [
        f"[{name}]" for name in ("main", "sysctl", "sysfs", "cpu", "bootloader")
    ]
    assert len(lines) == 5 + 1 + 1 + 3 + 1 + 1
    for line in lines:
        assert not re.search(r"(?<!\\)\$\{", line), "tuned calls functions of values"


@given(plans(), LINES)
def test_files_of_lines_have_one_for_each_setting(places, text):
    (sysctl,) = form("sysctl", places[:1], text)
    assert sysctl == [f"vm.swappiness = {places[0].after}"]
    (tmpfiles,) = form("tmpfiles", places, text)
    assert [tmpfile[:7] for tmpfile in tmpfiles if tmpfile.startswith('w "/sys') or tmpfile.startswith("w /sys/")] == [
        tmpfile[:7] for tmpfile in tmpfiles
    ]
    assert len(tmpfiles) == 2


@given(plans(), LINES)
def test_a_parameter_of_the_kernel_is_no_shell(places, text):
    ((line,),) = form("boot", places, text)
    begin = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT '
    assert line.startswith(begin)
    assert line.endswith('"')
    inside = line.removeprefix(begin)[:-1]
    assert not re.search(r'(?<!\\)(?:\\\\)*["$`]', inside), "a shell sources the file"


@given(plans(), LINES)
def test_a_script_writes_its_values_and_runs_nothing_else(places, text):
    (lines,) = form("script", places, text)
    fixed = lines.index('case "${1:-}" in')
    puts = [line.strip() for line in lines[fixed + 1 :] if line.strip().startswith("put ")]
    rest = [line.strip() for line in lines[fixed + 1 :] if not line.strip().startswith("put ")]
    usage = 'echo "usage: $0 on|off" >&2'
    assert rest == ["on)", ";;", "off)", ";;", "*)", usage, "exit 2", ";;", "esac", 'exit "$failed"']
    for item in puts:
        put, value, path = shlex.split(item.replace(PATTERN, "0"))
        assert put == "put"
        assert path.startswith("/")
        assert value.replace("0", PATTERN) in {
            str(text).replace(PATTERN, "0").replace("0", PATTERN)
            for place in places
            for text in (place.after, place.before)
        }


@pytest.mark.parametrize("name", [form.name for form in FORMS])
@given(plans(), LINES)
def test_every_comment_stays_one(name, places, text):
    for file in files(origin_of(text), places, name):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", file.content)


@given(HOSTILE, HOSTILE)
def test_a_profile_has_one_line_of_each_text_or_is_refused(name, value):
    content = f"name = {toml_value(name)}\n[settings]\nnice = {toml_value(value)}\n"
    try:
        profile = parse(content, "x", "x")
    except UsageError:
        return
    assert len(f"{profile.name}{profile.settings.to_json()['nice']}x".splitlines()) == 1


@given(HOSTILE)
def test_a_comment_of_a_placement_is_one_line(text):
    comment = _comment(text)
    assert len(f"# {comment}".splitlines()) == 1
    assert not comment.endswith("\\")
