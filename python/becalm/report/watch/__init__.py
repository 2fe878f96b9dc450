"""What `becalm watch` shows: `live` (a terminal), `lines` (a pipe), `terminal`, `markdown` (one run), `exposition`."""
