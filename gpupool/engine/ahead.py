"""Many questions to a node in one command: those that its operations begin with, before any of them looks."""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from pyinfra.api.command import StringCommand

from gpupool.facts.script import END, Question, killed_after, whole

#: How the script comes to the node, which reads all of it before it answers; no argument would hold it.
READ = 'eval "$(cat)"'


class Batch:
    """Questions by any key, as one `script` that `command` reads; killed on the node after `limit` seconds.

    Whatever could not be answered is missing in the `answers`, and is to be asked by itself.
    """

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._parts = list(_parts(questions))
        # no line of any answer can be the same
        self._mark = f"gpupool-{secrets.token_hex(8)}"
        texts = (question.part for question, _ in self._parts)
        self.script = "".join(f"{text}\necho {self._mark} {number}\n" for number, text in enumerate(texts))
        self.limit = max(question.limit for question in questions.values())
        self.command: StringCommand = killed_after(self.limit, READ)

    def answers(self, lines: Sequence[str]) -> dict[str, list[str]]:
        """Return by key what each question by itself would have been answered."""
        answers: list[list[str]] = [[]]
        for line in lines:
            # an answer whose last line has no end hides the mark after it: nothing is read from there on
            if line == f"{self._mark} {len(answers) - 1}":
                answers.append([])
            else:
                answers[-1].append(line)
        read: dict[str, list[str]] = {}
        for (_, questions), answer in zip(self._parts, answers[:-1], strict=False):
            if (own := whole(answer)) is not None:
                read |= _divided(questions, own)
        return read


def _parts(questions: Mapping[str, Question]) -> Iterator[tuple[Question, dict[str, Question]]]:
    """Return what is asked, and which of the questions each of it answers."""
    alike: dict[object, dict[str, Question]] = {}
    for key, question in questions.items():
        kind = (question.text, question.limit) if question.joint else key
        alike.setdefault(kind, {})[key] = question
    for group in alike.values():
        first = next(iter(group.values()))
        merged = first.joint.merge([question.values for question in group.values()]) if first.joint else None
        if merged is not None:
            yield Question(first.text, merged, first.limit, first.joint), group
        else:
            yield from ((question, {key: question}) for key, question in group.items())


def _divided(questions: Mapping[str, Question], lines: list[str]) -> dict[str, list[str]]:
    if len(questions) == 1:
        return {key: [*lines, END] for key in questions}
    try:
        return {
            key: [*question.joint.part(lines, question.values), END]
            for key, question in questions.items() if question.joint
        }  # fmt: skip
    except (ValueError, IndexError):
        return {}
