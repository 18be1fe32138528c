"""The words that stand around an answer's letter, by what they say about it, in many languages.

Data for `choices`, and the helper that makes a pattern of a table. Words are written in lower case
and are matched against lower-case text. Twenty-odd languages are covered, not all there are; in any
other a reply still counts where it names only one letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Characters that make a neighbouring letter part of a word: digits, Latin, Greek and Cyrillic. The
# letters of scripts written without spaces are not among them, as in 答案是B.
IN_WORD = "0-9A-Za-zÀ-ÖØ-öø-ʯͰ-ԯḀ-ỿ"


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, longest first, whole words where the script has them.

    The words of an entry stand on one line.

    >>> bool(re.search(any_of(["not", "不是"]), "not a")), bool(re.search(any_of(["not"]), "knot"))
    (True, False)
    """
    kinds: dict[tuple[str, str], list[str]] = {}
    for word in sorted({unicodedata.normalize("NFKC", w) for w in words}, key=len, reverse=True):
        before = f"(?<![{IN_WORD}])" if re.match(f"[{IN_WORD}]", word) else ""
        after = f"(?![{IN_WORD}])" if re.search(f"[{IN_WORD}]$", word) else ""
        kinds.setdefault((before, after), []).append(re.escape(word).replace(r"\ ", r"[^\S\n]+"))
    alternatives = (f"{a}(?:{'|'.join(those)}){b}" for (a, b), those in kinds.items())
    return f"(?:{'|'.join(alternatives)})"


def _table(text: str) -> tuple[str, ...]:
    """The entries of a table, which are parted by commas or line ends."""
    return tuple(word.strip() for word in re.split(r"[,\n]", text) if word.strip())


# "answer": the letter may follow at once.
ANSWER = _table("""
    answer, answers, ans, réponse, reponse, antwort, lösung, respuesta, resposta, risposta
    antwoord, svar, svaret, ответ, відповідь, odpowiedź, odpověď, απάντηση, cevap, cevabı, yanıt
    jawaban, jawabannya, đáp án, trả lời, الإجابة, الاجابة, الجواب, إجابة, پاسخ, תשובה, उत्तर
    জবাব, উত্তর, คำตอบ, 答案, 答, 答え, 回答, 解答, 正解, 正确选项, 정답, 답
""")

# "option": a link has to stand before the letter, because "option B" alone may be about any option.
OPTION = _table("""
    option, choice, letter, selection, response, verdict, conclusion, prediction, guess, pick
    correct, best, most likely, opción, alternativa, opção, opzione, вариант, bonne option, 选项
    選項, 選択肢, 결론
""")

LINK = _table("""
    is, are, was, be, being, becomes, est, sont, serait, ist, lautet, wäre, es, son, sería, é
    seria, è, sarebbe, это, jest, är, er, adalah, ialah, là, هي, هو, है, คือ, 是, 为, 為, 应为
    應為, 应该是, 應該是, 选, 選, は, が, 은, 는
""")

# "I choose": the letter follows at once.
CHOOSE = _table("""
    choose, chose, choosing, select, selecting, pick, picking, go with, going with, went with
    evidence supports, evidence favors, evidence favours, evidence points to
    opt for, settle on, vote for, lean towards, lean toward, leaning towards, leaning toward
    choisis, wähle, elijo, escolho, scelgo, выбираю, 选, 選, 选择, 選擇
""")

# A conclusion or a correction: the letter follows at once, and ends its clause.
THEREFORE = _table("""
    so, therefore, thus, hence, consequently, it is, it's, it’s, that is, that's, that’s
    which matches option, which corresponds to option, which is option, this matches option
    this corresponds to option, that matches option, that corresponds to option
    must be, should be, has to be, i think, i believe, i say, i'll say, i'd say, i would say
    i guess, wait, actually, sorry, correction, i mean, make that, leaving, leaves, rather, donc
    daher, por lo tanto, entonces, logo, quindi, значит, поэтому, 所以, 因此, 故, よって
    したがって, 따라서
""")

# As above, but more words may follow before "is": "Thus the part that comes next is B."
CONCLUSION = _table("""
    so, therefore, thus, hence, consequently, in conclusion, to conclude, 所以, 因此, 故
""")

# May stand between a cue and the letter, or around a letter on a line of its own.
FILLER = _table("""
    the, a, an, option, options, choice, letter, answer, final, either, both, most, likely
    probably, definitely, clearly, certainly, therefore, thus, indeed, actually, simply, just
    only, that, is, it, it's, be, still, now, la, le, l', l’, el, die, der, das, o, il, lettre
    lettera, letra, буква, вариант, opción, opção, opzione, alternativa, buchstabe, 选项, 選項
    選択肢, 应该, 應該, 是, 为, 选, 字母, です, 입니다, है, 项
""")

# The speaker only weighs the letter.
HEDGE = _table("""
    could, might, may, if, whether, unless, suppose, assuming, one of, among, between, options:
    options are, choices:, choices are
""")

# Before a cue or a letter of which nothing is claimed.
SUPPOSE = _table("if, whether, unless, suppose, assuming, even if, si, wenn, ob, если, 如果, もし")

# Before a letter that is rejected.
NOT = _table("""
    not, isn't, isn’t, aren't, wasn't, don't, don’t, doesn't, can't, can’t, cannot, won't, never
    nor, neither, except, except for, anything but, all but, excluding, exclude, excludes
    eliminate, eliminates, eliminated, eliminating, rule out, rules out, ruled out, ruling out
    reject, rejecting, discard, rather than, instead of, than, over, unlike, as opposed to, pas
    et non, plutôt que, nicht, statt, kein, no es, y no, en lugar de, não, não é, non, invece di
    не, а не, nie, niet, inte, değil, không phải, bukan, ليس, وليس, ليست, नहीं, 不是, 不选, 不選
    不为, 排除, 而非, 而不是
""")

# Letters follow that are called so, or that come second: "wrong options: A and C".
BAD_ONES = _table("""
    wrong:, incorrect:, wrong option, wrong options, wrong answer, wrong answers, wrong choices
    wrong ones, incorrect option, incorrect options, incorrect answer, incorrect answers
    incorrect choices, incorrect ones, distractor, distractors, rejected:, eliminated:
    excluded:, ruled out:, discarded:, unlikely:, less likely:, least likely:, second best
    second-best, next best
    third best, second most likely, runner-up, runner up, second choice:, 2nd choice:
    third choice:, 3rd choice:, last choice:, second guess, alternative answer
    alternative answers, alternative choice, alternate answer, alternative:, alternatives:
    alternative option:, other possibility:, other possibilities:
""")

# After that word and before the letter.
NOT_FILLER = (
    *FILLER,
    *_table("answers, choices, ones, one, are, choose, select, pick, go with, say, think, believe"),
)

# After a letter that is rejected, behind "is" or in its place.
WRONG = _table("""
    wrong, incorrect, false, inaccurate, invalid, impossible, implausible, unlikely, less likely
    not correct, not right, not the answer, ruled out, eliminated, excluded, rejected, out, faux
    fausse, incorrecte, falsch, incorrecta, incorrecto, errada, errado, sbagliata, неверно
    неверный, неправильно, خطأ, 错误, 錯誤, 错, 不对, 不對, 不正确, 不符合, 可以排除, 排除
    間違い, 誤り, 틀, ❌, ✗, ✘, ❎
""")
IS_NOT = _table("""
    is not, isn't, isn’t, are not, aren't, aren’t, was not, wasn't, cannot, can't, can’t
    can not, could not, couldn't, does not, doesn't, doesn’t, do not, don't, don’t, must not
    will not, won't, would not, wouldn't, n'est pas, n’est pas, ist nicht, no es, não é, non è
    не, ليست, नहीं, 不是, 不可能, 不选, ではなく, ではない, ではありません, じゃない, 가 아니
    는 아니, 이 아니, 은 아니
""")
IS = _table("""
    is, are, was, were, be, seems, seems to be, looks, appears, appears to be, must be
    has to be, can be, can be safely, should be, est, ist, es, é, è, 是, は, が, 가, 이, 은, 는
    项, 项是, 选项, 選項, 选项是
""")

# After a letter that is declared right, behind "is" or in its place.
RIGHT = _table("""
    correct, right, true, accurate, best, better, the best, most likely, most plausible, answer
    choice, wins, wins out, the winner
    correcte, la bonne, richtig, korrekt, correcta, la correcta, correta, corretta
    верно, верный, правильный, правильно, 正确, 正確, 正解, 对的, 정답, ✓, ✔, ✅, ☑
""")
DEGREE = _table("""
    the, my, clearly, obviously, definitely, certainly, also, both, all, therefore, thus, indeed
    only, final, single, most, an, a
""")

# "B is correct only if" confirms nothing.
ONLY_THEN = _table("in other, in some, in case, in the case, if, only if, only when, unless, but")

# What a letter may be called where it is joined with another.
CALLED = _table("""
    option, options, choice, answer, letter, opción, opção, opzione, вариант, 选项, 選項, 選択肢
""")

# Begins the reason for an answer.
REASON = _table("""
    because, since, as, due to, for, based on, given, according to, car, parce, weil, da, porque
    perché, потому, так как, 因为, 因為, なぜなら
""")

# A letter behind one of these names a thing in the picture, not an option.
THING = _table("""
    part, parts, image, images, img, picture, photo, figure, fig, frame, step, point, person
    object, table, plan, type, class, group, vitamin, grade, view, camera, panel, piece
    component, section, segment, video, clip, scene, side, position, block, node, slot, hole
    leg, screw, board, appendix, pièce, partie, bild, teil, imagen, parte, pieza, imagem, peça
    immagine, деталь, часть, изображение, изображении, рисунок, 图, 圖, 图像, 图片, 画像, 零件
    部件, 步骤, 部品, 이미지, 그림, 부품
""")

# "A" or "I" before one of these is a letter; before any other word it is an article or a pronoun.
AFTER_LETTER = frozenset(
    _table("""
    is, was, are, and, or, nor, but, because, since, as, for, due, based, given, according, with
    so, not, rather, instead, over, if, when, while, where, which, who, that, then, than, in, on
    at, to, from, by, of, after, before, out, only, isn't, cannot, can't, can, could, would
    should, must, will, may, might, has, had, does, doesn't, seems, looks, appears, matches
    fits, shows, lists, gives, describes, represents, corresponds, contains, states, says, both
    either, this, the, it, these, those, there, here, we, they, its, my, compared, unlike
    however, therefore, thus, option, explanation, vs, versus, et, ou, est, und, oder, ist, y, o
    es, e, é, è, и, или, это, tidak, là, و, है
""")
)

# Before these, "I" is a letter; "I can", "I was" and the like are the speaker's.
AFTER_I = frozenset(_table("is, and, or, but, because, since, as, due, based, given, nor, over"))

AND = _table("""
    and, &, +, et, und, y, e, и, і, ve, dan, và, و, और, 和, 与, 與, 及, 以及, と, や, 와, 과
    plus, as well as, also, and also, but also
""")
OR = _table("""
    or, or maybe, or perhaps, or possibly, and/or, /, nor, vs, vs., versus, ou, oder, o, или
    veya, atau, hoặc, أو, या, 或, 或者, 还是, 還是, か, または, 또는
""")
