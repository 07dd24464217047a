"""INFO: every field the specification names, in its order, with the right value."""

from __future__ import annotations

import pytest

from disque.commands.info import human_size, report
from disque.model.job import NodeId
from disque.model.limits import CLIENT_BYTES, NODE_BYTES
from tests.commands.world import START_MS, Client, World, server_facts

BEE = NodeId(b"b" * 40)

# Section by section, as the specification lists them; of our own there may be more at the end.
FIELDS = {
    "Server": (
        "disque_version disque_git_sha1 disque_git_dirty disque_build_id os arch_bits "
        "multiplexing_api gcc_version process_id run_id tcp_port uptime_in_seconds "
        "uptime_in_days hz executable config_file"
    ),
    "Clients": (
        "connected_clients client_longest_output_list client_biggest_input_buf blocked_clients"
    ),
    "Memory": (
        "used_memory used_memory_human used_memory_rss used_memory_peak used_memory_peak_human "
        "mem_fragmentation_ratio mem_allocator"
    ),
    "Jobs": "registered_jobs",
    "Queues": "registered_queues",
    "Persistence": (
        "loading aof_enabled aof_state aof_rewrite_in_progress aof_rewrite_scheduled "
        "aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_bgrewrite_status "
        "aof_last_write_status"
    ),
    "Stats": (
        "total_connections_received total_commands_processed instantaneous_ops_per_sec "
        "total_net_input_bytes total_net_output_bytes instantaneous_input_kbps "
        "instantaneous_output_kbps rejected_connections latest_fork_usec"
    ),
    "CPU": "used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children",
}
# Only these sections may have fields of our own.
EXTENSIBLE = ("Memory", "Stats")


def text_of(client: Client, *words: bytes) -> str:
    text = client.value(b"INFO", *words)
    assert isinstance(text, bytes)
    return text.decode()


def fact(client: Client, section: bytes, name: bytes) -> bytes:
    return client.lines(b"INFO", section)[name]


# --- Layout -----------------------------------------------------------------------------------


def test_without_a_section_the_default_ones_come_in_their_order() -> None:
    client = World().client()

    sections = text_of(client).split("\r\n\r\n")

    assert [section.partition("\r\n")[0] for section in sections] == [
        f"# {name}" for name in FIELDS
    ]


def test_sections_are_separated_by_one_blank_line_and_none_follows_the_last() -> None:
    text = text_of(World().client())

    assert text.endswith("\r\n")
    assert not text.endswith("\r\n\r\n")
    assert "\r\n\r\n\r\n" not in text
    assert text.count("\r\n\r\n") == len(FIELDS) - 1
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize("section", FIELDS)
def test_a_section_has_its_fields_in_their_order(section: str) -> None:
    header, *lines = text_of(World().client(), section.upper().encode()).splitlines()
    names = [line.partition(":")[0] for line in lines]
    wanted = FIELDS[section].split()

    assert header == f"# {section}"
    assert names[: len(wanted)] == wanted
    assert section in EXTENSIBLE or len(names) == len(wanted)


def test_no_section_is_left_out_of_all() -> None:
    client = World().client()
    client.ask(b"PING")

    sections = text_of(client, b"All").split("\r\n\r\n")

    assert [section.partition("\r\n")[0] for section in sections] == [
        *[f"# {name}" for name in FIELDS],
        "# Commandstats",
    ]


def test_default_is_what_comes_without_a_word() -> None:
    world = World()

    facts = server_facts()

    assert report(world.front, b"default", facts, START_MS).count(b"# ") == len(FIELDS)
    assert b"Commandstats" not in report(world.front, b"default", facts, START_MS)


@pytest.mark.parametrize("section", [b"nosuch", b"", b"# Server", b"server ", b"\xff"])
def test_an_unknown_section_is_empty(section: bytes) -> None:
    assert World().client().ask(b"INFO", section) == b"$0\r\n\r\n"


def test_one_section_at_a_time() -> None:
    world = World()

    assert world.client().ask(b"INFO", b"server", b"clients") == b"-ERR syntax error\r\n"

    assert world.asked == []


# --- Values -----------------------------------------------------------------------------------


def test_what_only_the_process_knows_is_passed_on() -> None:
    facts = World().client().lines(b"INFO", b"server")

    assert facts[b"disque_version"] == b"1.2.3"
    assert facts[b"process_id"] == b"4242"
    assert facts[b"run_id"] == b"r" * 40
    assert facts[b"tcp_port"] == b"7711"
    assert (facts[b"uptime_in_seconds"], facts[b"uptime_in_days"]) == (b"90061", b"1")
    assert (facts[b"executable"], facts[b"config_file"]) == (b"/bin/disque", b"/etc/disque.conf")


def test_processor_time_has_two_digits() -> None:
    facts = World().client().lines(b"INFO", b"cpu")

    assert list(facts.values()) == [b"1.50", b"2.25", b"0.00", b"0.12"]


def test_the_frequency_is_the_one_that_is_set() -> None:
    client = World().client()
    client.ask(b"CONFIG", b"SET", b"hz", b"77")

    assert fact(client, b"server", b"hz") == b"77"


def test_clients_that_wait_are_counted_by_kind_of_waiting_or_not() -> None:
    world = World(BEE)
    consumer, producer, watcher = world.client(), world.client(), world.client()
    consumer.send(b"GETJOB", b"FROM", b"q")
    producer.send(b"ADDJOB", b"other", b"b", b"0", b"REPLICATE", b"2")

    facts = watcher.lines(b"INFO", b"clients")

    assert (facts[b"connected_clients"], facts[b"blocked_clients"]) == (b"3", b"2")
    consumer.hang_up()
    facts = watcher.lines(b"INFO", b"clients")
    assert (facts[b"connected_clients"], facts[b"blocked_clients"]) == (b"2", b"1")


def test_memory_is_what_jobs_queues_and_clients_are_accounted_for() -> None:
    client = World().client()
    empty = int(fact(client, b"memory", b"used_memory"))

    client.add(b"q", b"x" * 100_000)

    assert empty == NODE_BYTES + CLIENT_BYTES
    full = int(fact(client, b"memory", b"used_memory"))
    assert 100_000 < full - empty < 102_000


def test_memory_is_told_to_people_as_well() -> None:
    facts = World().client().lines(b"INFO", b"memory")

    assert facts[b"used_memory_human"] == human_size(int(facts[b"used_memory"]))
    ratio = 3_000_000 / int(facts[b"used_memory"])
    assert facts[b"mem_fragmentation_ratio"] == b"%.2f" % ratio


@pytest.mark.parametrize(
    ("size_bytes", "told"),
    [
        (0, b"0B"),
        (1_023, b"1023B"),
        (1_024, b"1.00K"),
        (1_024**2 - 1, b"1024.00K"),
        (1_024**2, b"1.00M"),
        (1_610_612_736, b"1.50G"),
        (1_024**4, b"1.00T"),
        (1_024**5, b"1.00P"),
        (2_048 * 1_024**5, b"2048.00P"),
    ],
)
def test_sizes_are_told_in_the_greatest_unit_that_fits(size_bytes: int, told: bytes) -> None:
    assert human_size(size_bytes) == told


def test_jobs_of_every_state_and_bare_acknowledgements_are_registered() -> None:
    client = World(BEE).client()
    client.add(b"q", b"queued", b"REPLICATE", b"1")
    client.add(b"q", b"delayed", b"REPLICATE", b"1", b"DELAY", b"10")
    client.ask(b"ACKJOB", b"D-bbbbbbbb-aaaaaaaaaaaaaaaaaaaaaaaa-05a1")

    assert fact(client, b"jobs", b"registered_jobs") == b"3"


def test_a_queue_is_registered_as_soon_as_somebody_asks_for_it() -> None:
    client = World().client()

    client.ask(b"GETJOB", b"NOHANG", b"FROM", b"a", b"b")

    assert fact(client, b"queues", b"registered_queues") == b"2"


def test_only_what_was_executed_counts_as_processed() -> None:
    world = World()
    client, quitter = world.client(), world.client()
    quitter.send(b"QUIT")
    client.pipeline([b"PING"], [b"NOSUCH"], [b"QLEN"], [b"ADDJOB", b"q", b"b", b"x"])
    client.take()

    # PING and ADDJOB, and INFO itself, which is under way.
    assert fact(client, b"stats", b"total_commands_processed") == b"3"


def test_the_rate_of_commands_is_the_mean_of_the_last_samples() -> None:
    world = World()
    client = world.client()
    client.pipeline(*[[b"PING"]] * 160)
    client.take()
    world.pass_time(100)

    assert fact(client, b"stats", b"instantaneous_ops_per_sec") == b"100"
    world.pass_time(2_000)
    assert fact(client, b"stats", b"instantaneous_ops_per_sec") == b"0"


def test_statistics_start_again_on_demand() -> None:
    world = World()
    client = world.client()
    world.front.traffic.connections_rejected = 4
    client.ask(b"PING")

    client.ask(b"CONFIG", b"RESETSTAT")

    facts = client.lines(b"INFO", b"stats")
    # INFO is what ran since.
    assert facts[b"total_commands_processed"] in (b"1", b"2")
    assert facts[b"total_connections_received"] == b"0"
    assert facts[b"rejected_connections"] == b"0"
    assert b"cmdstat_ping" not in client.lines(b"INFO", b"commandstats")


def test_a_restart_of_the_statistics_does_not_lower_the_peak_of_memory() -> None:
    world = World()
    client = world.client()
    id = client.add(b"q", b"x" * 50_000)
    full = fact(client, b"memory", b"used_memory")
    client.ask(b"DELJOB", id)

    client.ask(b"CONFIG", b"RESETSTAT")

    facts = client.lines(b"INFO", b"memory")
    assert facts[b"used_memory_peak"] == full
    assert int(facts[b"used_memory"]) < int(full)


def test_trouble_with_the_journal_and_loading_show() -> None:
    world = World()
    client = world.client()
    world.front.write_error = "No space left on device"
    world.front.is_loading = True
    world.front.gates_changed()

    facts = client.lines(b"INFO", b"persistence")

    assert (facts[b"loading"], facts[b"aof_last_write_status"]) == (b"1", b"err")


def test_commands_are_listed_in_table_order_once_they_ran() -> None:
    client = World().client()
    client.ask(b"SHOW", b"x")
    client.ask(b"ACKJOB")
    client.ask(b"AUTH", b"x")
    client.ask(b"PING")
    client.ask(b"QLEN")

    names = list(client.lines(b"INFO", b"commandstats"))

    assert names == [b"cmdstat_auth", b"cmdstat_ping", b"cmdstat_ackjob", b"cmdstat_show"]


def test_commands_are_told_with_calls_and_microseconds() -> None:
    world = World()
    client = world.client()
    world.step_ns = 1_500
    client.ask(b"PING")
    client.ask(b"PING")
    world.step_ns = 0

    assert fact(client, b"commandstats", b"cmdstat_ping") == b"calls=2,usec=3,usec_per_call=1.50"


def test_a_server_that_did_nothing_yet_has_an_empty_list_of_commands() -> None:
    assert text_of(World().client(), b"commandstats") == "# Commandstats\r\n"
