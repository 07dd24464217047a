"""What the prompt suggests."""

import pytest

from disque.cli.hints import complete, hint

OPTIONS = "[REPLICATE n] [DELAY s] [RETRY s] [TTL s] [MAXLEN n] [ASYNC]"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("addj", ""),
        ("addjob", f" queue job ms-timeout {OPTIONS}"),
        ("ADDJOB q ", f"job ms-timeout {OPTIONS}"),
        ('addjob q "two words" 0 ', OPTIONS),
        ("addjob q b 0 retry 5 async ", "[REPLICATE n] [DELAY s] [TTL s] [MAXLEN n]"),
        ('addjob q "open', ""),
        ("getjob nohang ", "[TIMEOUT ms] [COUNT n] [WITHCOUNTERS] FROM queue [queue ...]"),
        ("getjob count 5 from ", "queue [queue ...]"),
        ("getjob from a b c", " [queue ...]"),
        ("qlen q", ""),
        ("5 qlen", " queue"),
        ("client", " subcommand [argument ...]"),
        ("client setname ", "name"),
        ("config set port", " value"),
        ("auth secret", ""),
        ("auth default", " password"),
        ("ackjob D-1 ", "[job-id ...]"),
        ("help", " [command|@group]"),
        ("connect ", "host port"),
    ],
)
def test_the_hint_is_what_is_left_of_the_syntax(line: str, expected: str) -> None:
    assert hint(line) == expected


@pytest.mark.parametrize(
    ("line", "fragment", "candidates"),
    [
        ("addj", "addj", ["addjob"]),
        ("ADD", "ADD", ["ADDJOB"]),
        ("2 addj", "addj", ["addjob"]),
        ("cl", "cl", ["client", "cluster", "clear"]),
        ("client s", "s", ["setinfo", "setname"]),
        ("SLOWLOG ", "", ["GET", "LEN", "RESET"]),
        ("help @j", "@j", ["@jobs"]),
        ("help slowlog ", "", ["GET", "LEN", "RESET"]),
        ("addjob q b 0 D", "D", ["DELAY"]),
        ("getjob nohang t", "t", ["timeout"]),
        ("pause q st", "st", ["state"]),
        ("cluster leaving ", "", ["yes", "no"]),
        ('addjob q "open ', "", []),
        ("nosuch ", "", []),
    ],
)
def test_tab_completes_commands_subcommands_options_and_groups(
    line: str, fragment: str, candidates: list[str]
) -> None:
    assert complete(line) == (fragment, candidates)
