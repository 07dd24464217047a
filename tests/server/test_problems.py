"""Why a server cannot start is a sentence."""

from disque.server.problems import StartError


def test_the_sentence_is_what_people_see() -> None:
    problem = StartError("Port 70000 is too high.")

    assert problem.sentence == str(problem) == "Port 70000 is too high."
