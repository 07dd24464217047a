"""The command table agrees with the protocol specification and with itself."""

from disque.commands.table import COMMANDS, FLAGS, FORMS, GROUPS, Command, Form

# Name, arity and flags of the original's table, in its order. Two arities differ on purpose:
# AUTH also takes a user name, HELLO also takes the arguments of the Redis handshake.
ORIGINAL = """
auth -2 readonly loading fast
ping -1 readonly fast
info -1 readonly loading
shutdown -1 readonly admin loading
monitor 1 readonly admin
debug -2 admin
config -2 readonly admin
cluster -2 readonly admin
client -2 readonly admin
slowlog -2 readonly
time 1 readonly fast
command 0 readonly loading
latency -2 readonly admin loading
hello -1 readonly fast
addjob -4 write denyoom fast
getjob -2 write fast
ackjob -1 write fast
fastack -1 write fast
deljob -1 write fast
show 2 readonly fast
loadjob 2 write
bgrewriteaof 1 readonly admin
qlen 2 readonly fast
qpeek 3 readonly
qstat 2 readonly fast
qscan -1 readonly
jscan -1 readonly
enqueue -1 write denyoom fast
nack -1 write denyoom fast
dequeue -1 write fast
working 2 write fast
pause -3 readonly fast
"""


def test_the_table_starts_with_the_original_commands_in_their_order() -> None:
    expected = [line.split() for line in ORIGINAL.split("\n") if line]

    shown = [
        [c.name.decode(), str(c.arity), *(flag.decode() for flag in c.flags)] for c in COMMANDS
    ]

    assert shown[: len(expected)] == expected
    assert [row[0] for row in shown[len(expected) :]] == ["echo", "select", "reset"]


def test_names_are_unique_and_lower_case() -> None:
    names = [command.name for command in COMMANDS]

    assert len(set(names)) == len(names)
    assert all(name == name.lower() for name in names)


def test_flags_come_in_the_order_in_which_command_shows_them() -> None:
    for command in COMMANDS:
        positions = [FLAGS.index(flag) for flag in command.flags]
        assert positions == sorted(positions), command.name


def test_the_flag_attributes_repeat_the_flags() -> None:
    for command in COMMANDS:
        assert command.is_write == (b"write" in command.flags)
        assert command.is_deny_oom == (b"denyoom" in command.flags)
        assert command.is_loading == (b"loading" in command.flags)
        assert command.is_fast == (b"fast" in command.flags)


def test_only_commands_that_use_memory_are_denied_when_it_is_full() -> None:
    denied = {command.name for command in COMMANDS if command.is_deny_oom}

    assert denied == {b"addjob", b"enqueue", b"nack"}


def test_every_entry_has_a_group_and_a_summary_that_is_a_sentence() -> None:
    entries: list[Command | Form] = [*COMMANDS, *FORMS]

    for entry in entries:
        assert entry.group in GROUPS, entry.name
        assert entry.summary[0].isupper(), entry.name
        assert entry.summary.endswith("."), entry.name


def test_forms_belong_to_a_command_and_to_its_group() -> None:
    groups = {command.name.decode().upper(): command.group for command in COMMANDS}

    assert len({form.name for form in FORMS}) == len(FORMS)
    for form in FORMS:
        if form.name != "QUIT":
            container, _subcommand = form.name.split(" ")
            assert groups[container] == form.group, form.name


def test_required_arguments_in_the_syntax_agree_with_the_arity() -> None:
    for command in COMMANDS:
        required, depth = 0, 0
        for word in command.syntax.split():
            required += depth == 0 and not word.startswith("[")
            depth += word.count("[") - word.count("]")
        assert depth == 0, command.name
        # GETJOB's arity is satisfied by one word; the handler asks for FROM and a queue.
        needed = 1 if command.name == b"getjob" else required
        assert command.arity == 0 or abs(command.arity) == needed + 1, command.name
