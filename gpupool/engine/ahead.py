"""Ask a node many questions in one command: the first question of each operation, before the operations run."""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from pyinfra.api.command import StringCommand

from gpupool.facts.script import END, Question, complete_lines, killed_after

#: Reads a whole script from standard input, then runs it: the script is too long for an argument.
READ = 'eval "$(cat)"'


class Batch:
    """Questions, each with a key, as one `script` that `command` reads; killed on the node after `limit` seconds.

    Questions without an answer are missing in `answers`, and must be asked separately.
    """

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._parts = list(_parts(questions))
        # random, so that no line of an answer can equal it
        self._mark = f"gpupool-{secrets.token_hex(8)}"
        texts = (question.part for question, _ in self._parts)
        self.script = "".join(f"{text}\necho {self._mark} {number}\n" for number, text in enumerate(texts))
        self.limit = max(question.limit for question in questions.values())
        self.command: StringCommand = killed_after(self.limit, READ)

    def answers(self, lines: Sequence[str]) -> dict[str, list[str]]:
        """Return the answer to each question by its key, as if it had been asked separately."""
        answers: list[list[str]] = [[]]
        for line in lines:
            # an answer without a final newline hides the mark after it: all answers from there on are missing
            if line == f"{self._mark} {len(answers) - 1}":
                answers.append([])
            else:
                answers[-1].append(line)
        read: dict[str, list[str]] = {}
        for (_, questions), answer in zip(self._parts, answers[:-1], strict=False):
            if (own := complete_lines(answer)) is not None:
                read |= _divided(questions, own)
        return read


def _parts(questions: Mapping[str, Question]) -> Iterator[tuple[Question, dict[str, Question]]]:
    """Yield each question to send (several may be merged into one), and the original questions that it answers."""
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
