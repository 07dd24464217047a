"""Marking a method changes nothing but what a type checker knows."""

from disque.model.override import override


class Base:
    """Something with a method."""

    def name(self) -> str:
        """Tell which class answers."""
        return "base"


class Derived(Base):
    """Something that answers differently."""

    @override
    def name(self) -> str:
        """Tell which class answers, and what the other one says."""
        return f"derived from {super().name()}"


def test_marked_method_is_called_like_any_other() -> None:
    assert Derived().name() == "derived from base"
    assert Derived.name.__qualname__ == "Derived.name"
