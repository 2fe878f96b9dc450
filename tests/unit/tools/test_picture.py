"""The picture of the README: which screen is shown when, and that texts of a terminal stay texts."""

import re
import xml.etree.ElementTree as tree

import picture
import pytest


def test_frames_follow_each_other_without_a_gap():
    frames = [picture.Frame(f"<text>{number}</text>", seconds) for number, seconds in enumerate((1.0, 2.5, 0.5))]
    text = picture.animated(frames, "title")
    assert tree.fromstring(text).tag.endswith("svg")
    starts = [float(match) for match in re.findall(r"opacity:0}([\d.]+)%{opacity:1", text)]
    ends = [float(match) for match in re.findall(r"opacity:1}([\d.]+)%{opacity:0", text)]
    assert starts == pytest.approx([25, 87.5])
    assert ends == pytest.approx([25, 87.5])
    assert "animation:4.00s" in text


def test_a_screen_is_drawn_as_text_in_its_colours():
    recorder = picture.Recorder()
    recorder.stream.feed("\x1b[32m$\x1b[0m a <b>&\r\n  \x1b[1mbold")
    recorder.show(1)
    texts = tree.fromstring(f"<g>{recorder.frames[0].body}</g>")
    assert [text.text for text in texts] == ["$", "a <b>&", "bold"]
    assert texts[0].get("fill") == picture.COLOURS["green"]
    assert texts[2].get("font-weight") == "bold"


def test_a_screen_that_stays_is_one_frame():
    recorder = picture.Recorder()
    recorder.show(1)
    recorder.show(2)
    assert [frame.seconds for frame in recorder.frames] == [3]
