"""Whether words ask a person for a secret: a password, a token, a card, a code that is sent.

The protocol forbids a server to ask for one in a form. Words are looked at one by one, so that
`spinner` and `tokenizer_count` are none; `userAPIKey`, `p-a-s-s-w-o-r-d`, `pa55word`, Cyrillic
letters that look like Latin ones and the usual words of some other languages are. It catches the
careless and the lazy; a server that writes "the word that opens your account" is not caught.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache


def secret_in_name(name: str) -> str | None:
    """The secret that the name or title of a field asks for, in the words found; None if none."""
    for reading in dict.fromkeys(readings(name)):
        for words in _sequences(reading):
            found = _secret_in(words) or _at_the_end(words) or _across(words)
            if found:
                return found
    return None


def secret_in_text(text: str) -> str | None:
    """The secret that running text speaks of; `pin` counts only where it must be the number."""
    if _PIN.search(text):
        return "PIN"
    if _PAT.search(text):
        return "PAT"
    if _FILE.search(text):
        return "a file that is one"
    for reading in dict.fromkeys(readings(text)):
        for words in _sequences(reading):
            found = _secret_in(words)
            if found:
                return found
    return None


# Plurals are cut before they are compared.
_WORDS = frozenset(
    (
        *("secret", "pwd", "pw", "cvv", "cvc", "cvv2", "cvc2", "ssn", "otp", "totp", "hotp"),
        *("mfa", "2fa", "tfa", "cookie", "jwt", "bearer", "mnemonic", "senha", "hasło", "haslo"),
        *("şifre", "sifre", "kodeord", "adgangskode", "heslo", "salasana", "pswd", "psw", "mdp"),
        *("geheimzahl", "zugangscode", "jelszó", "jelszo", "lozinka", "zaporka", "parool"),
        *("парола", "лозинка"),
    )
)

# Told by any word that has them inside, written together or not.
_INSIDE = (
    *("password", "passwd", "passphrase", "passcode", "passkey", "passwort", "kennwort"),
    *("contraseña", "contrasena", "motdepasse", "wachtwoord", "lösenord", "losenord"),
    *("пароль", "密码", "密碼", "口令", "パスワード", "暗証", "비밀번호"),
    *("credential", "apikey", "privatekey", "secretkey", "accesskey", "accesstoken"),
    *("authtoken", "refreshtoken", "bearertoken", "clientsecret", "seedphrase"),
    *("cardnumber", "creditcard"),
)

_WRITTEN_APART = (
    *("pass word", "pass phrase", "pass code", "pass key", "mot de passe", "kata sandi"),
    *("api key", "access key", "private key", "secret key", "ssh key", "signing key"),
    *("encryption key", "decryption key", "master key", "recovery key", "account key"),
    *("seed phrase", "seed word", "wallet seed", "recovery phrase", "recovery word"),
    *("recovery code", "backup code", "security code", "security answer", "login code"),
    *("verification code", "auth code", "authentication code", "authenticator code"),
    *("sms code", "digit code", "code we sent", "code sent", "one time code", "one time pin"),
    *("two factor code", "2 factor code"),
    *("login key", "palavra passe", "parola d ordine", "parola segreta", "clave de acceso"),
    *("clave secreta", "clave privada", "su clave", "tu clave", "mat khau"),
    *("2 fa", "factor authentication", "card number", "credit card", "debit card"),
    *("social security", "connection string", "card verification", "pin code", "pin number"),
)
_PHRASES: dict[str, list[list[str]]] = {}
for _phrase in _WRITTEN_APART:
    _PHRASES.setdefault(_phrase.split()[0], []).append(_phrase.split())

# What a model's tokens are spoken of with; these are counted, not kept.
_COUNTED = frozenset(
    (
        *("max", "maximum", "min", "minimum", "count", "number", "num", "total", "limit"),
        *("budget", "size", "used", "usage", "per"),
    )
)

# Words that mean a secret as a field's whole name, or behind one of these: `auth` is also a switch,
# `clave` and `parola` are also a key and a word, `pat` is also a pattern.
_ALONE: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("auth", "authorization"), frozenset({"basic", "http", "bearer", "proxy", "api", "x"})
    ),
    **dict.fromkeys(
        ("clave", "parola"),
        frozenset({"user", "usuario", "utente", "admin", "nueva", "nuova", "db", "wifi"}),
    ),
    "pat": frozenset({"github", "gitlab", "gh", "azure", "devops", "ado", "bitbucket", "personal"}),
}

# Asks for a file that is one: what it holds, not where it lies.
_FILE = re.compile(
    r"\b(?:contents?|paste|inhalte?s?|contenu|contenido|cat|(?:text|output|copy)\s+of)\b[^\n]{0,40}?"
    r"(?:\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.env\b|\.netrc\b|\.npmrc\b|\.pgpass\b"
    r"|\.aws/credentials\b|\.gnupg\b|\.kube/config\b|\.git-credentials\b|/etc/shadow\b)"
    r"(?!\S*\.(?:pub|example|sample|template|dist)\b)",
    re.IGNORECASE,
)

_PAT = re.compile(r"\bPAT\b")

_PIN = re.compile(r"\bPIN\b|\b(?i:your|the|digit|card|bank|sim|security|enter)[\s-]+(?i:pin)\b")

_TOKEN_WITHOUT_MARKS = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")

# Digits and signs for the letters they look like.
_DIGITS = str.maketrans("013457@$!", "oieastasi")

# Cyrillic, Greek and small capitals for the Latin letters they look like; capitals are told by
# their small ones where those look alike too.
_LOOKALIKES = str.maketrans(
    "аеорсухіѕјԁԝһктмοαρντκιωᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıɑɡАВЕКМНОРСТУХЅІЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxisjdwhktmoapvtkiwabcdefghijklmnoprstuvwyziagABEKMHOPCTYXSIJABEZHIKMNOPTYX",
)


def readings(text: str) -> Iterator[str]:
    """The text as it is and as it looks: without marks, in Latin letters, digits as letters."""
    yield text
    if not text.isascii():
        from unicodedata import combining, normalize  # noqa: PLC0415  (hardly any form needs it)

        yield normalize("NFKC", text)
        bare = "".join(char for char in normalize("NFKD", text) if not combining(char))
        text = bare.translate(_LOOKALIKES)
        yield text
    yield text.translate(_DIGITS)


def _sequences(text: str) -> Iterator[list[str]]:
    """The words of a text, once as written and once with `camelCase` and `x2y` taken apart."""
    for pattern in (_TOKEN_WITHOUT_MARKS, _PART):
        yield [_singular(word) for word in _joined(pattern.findall(text))]


def _joined(words: list[str]) -> Iterator[str]:
    """The words in lower case, with single letters (`p a s s`, `P.I.N.`) put together."""
    letters = ""
    for word in words:
        if len(word) == 1:
            letters += word
            continue
        if letters:
            yield letters.lower()
            letters = ""
        yield word.lower()
    if letters:
        yield letters.lower()


# Words this short are compared as they are: `yes`, `gas`.
_NO_PLURAL = 3


def _singular(word: str) -> str:
    if len(word) <= _NO_PLURAL or word.endswith("ss") or not word.endswith("s"):
        return word
    return word[:-1]


def _secret_in(words: list[str]) -> str | None:
    for at, word in enumerate(words):
        if word in _WORDS or word.endswith("secret"):
            return word
        if word.endswith("token") and not _is_counted(words, at):
            return word
        found = _inside(word)
        if found:
            return found
        for phrase in _PHRASES.get(word, ()):
            if words[at : at + len(phrase)] == phrase:
                return " ".join(phrase)
    return None


def _is_counted(words: list[str], at: int) -> bool:
    """Whether `token` at this place goes with a number: `maxTokens`, "tokens per call"."""
    near = words[max(at - 2, 0) : at + 3]
    return words[at].removesuffix("token") in _COUNTED or not _COUNTED.isdisjoint(near)


def _inside(word: str) -> str | None:
    found = _any_inside().search(word)
    return found[0] if found else None


@cache
def _any_inside() -> re.Pattern[str]:
    return re.compile("|".join(_INSIDE))


def _across(words: list[str]) -> str | None:
    """A secret written over several words, from the beginning of one: `pass-wo-rd`."""
    for at in range(len(words)):
        found = _any_inside().match("".join(words[at:]))
        if found:
            return found[0]
    return None


def _at_the_end(words: list[str]) -> str | None:
    """`db_pass`, `card pin`, `github_pat`: short words that mean a secret where a name ends so."""
    last = words[-1] if words else ""
    if last in {"pin", "pass"}:
        return last
    before = words[:-1]
    known = _ALONE.get(last)
    is_told = known is not None and (not before or (len(before) == 1 and before[0] in known))
    return last if is_told else None
