"""Words that ask for a secret, and words that only look like it."""

# ruff: noqa: RUF001  (letters that look like others are what this file is about)

from __future__ import annotations

import pytest

from mcp_jail.core.secret_asks import secret_in_name, secret_in_text

NAMES = """
    password userPassword PASSWORD pASSWORD pass_word Pass-Word pass.phrase passwd pwd db_pass
    passphrase passcode p-a-s-s-w-o-r-d p_a_s_s_word pa55w0rd p@$$word раѕѕwоrd ｐａｓｓｗｏｒｄ
    pässwörd ᴘᴀꜱꜱᴡᴏʀᴅ userpassword newPasswordAgain
    token tokens accessToken authtoken OAuthToken2 github_token sessionTokens t0ken ТOKEN
    apiKey userAPIKey API_KEYS x-api-key openai_apikey accessKey privateKey ssh_key secretKey
    secret clientSecret SECRETS $ecret aws_secret_access_key credentials credential
    pin PIN card_pin pin_code PINCode pinNumber p1n P.I.N.
    cvv CVC cvv2 card_number cardNumber creditCard debit_card ssn S.S.N. socialSecurityNumber
    seedPhrase seed_words recoveryPhrase recovery_code backupCodes mnemonic wallet-seed
    otp totp OTPCode 2fa 2faCode twoFactorCode two_factor_authentication oneTimeCode smsCode
    verification_code security_code security_answer login_code mfa cookie sessionCookies jwt
    Passwort Kennwort contraseña CONTRASEÑA contrasen\u0303a motDePasse пароль 密码 输入密码
    パスワード pass-wo-rd pAsSwOrD 비밀번호 wachtwoord senha hasło connection_string
""".split()

HARMLESS = """
    spinner tokenizer_count tokenizer maxTokens max_tokens token_limit tokenCount tokens_per_minute
    opinion pinned pin_version pinMessage secretary compass compassion passenger bypass_words
    pass_rate classword keyword monkey key issue_key keyboard seed random_seed code zip_code
    postcode country_code username email name repo description author authority session number
    account options shipping address discard cardinal otpauthless hotpot class Ωmega naïve état
    名前 имя yes gas s x 1 2024 λ
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_asks_for_a_secret_is_told(name: str) -> None:
    assert secret_in_name(name)


@pytest.mark.parametrize("name", ["", "_", *HARMLESS])
def test_a_name_that_asks_for_none_is_let_be(name: str) -> None:
    assert secret_in_name(name) is None


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Please enter your GitHub password", "password"),
        ("type it letter by letter: p a s s w o r d", "password"),
        ("Paste the API keys below", "api key"),
        ("The token has expired", "token"),
        ("your social-security number", "social security"),
        ("Enter the 2FA code", "2fa"),
        ("Enter the 6-digit code", "digit code"),
        ("the code we sent to your phone", "code we sent"),
        ("Enter the PIN.", "PIN"),
        ("what is your pin?", "PIN"),
        ("your Pin", "PIN"),
        ("Sim pin", "PIN"),
        ("le mot de passe", "mot de passe"),
        ("Bitte das PASSWORT eingeben", "passwort"),
        ("Geben Sie Ihr раssword ein", "password"),
        ("the 24 seed words", "seed word"),
    ],
)
def test_a_text_that_speaks_of_a_secret_is_told(text: str, secret: str) -> None:
    assert secret_in_text(text) == secret


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which version should we pin?",
        "Pin this message, and give your opinion",
        "At most how many tokens per call?",
        "the number of tokens",
        "Which passenger takes the boarding pass?",
        "Which key should the song be in?",
        "Enter the postal code",
        "spinning the secretary's compass",
        "They bypass words",
    ],
)
def test_a_text_that_speaks_of_none_is_let_be(text: str) -> None:
    assert secret_in_text(text) is None


def test_words_stand_beside_a_count_only_two_away() -> None:
    assert secret_in_text("limit each token") is None
    assert secret_in_text("token and its limit") == "token"
    assert secret_in_text("limit for each token") == "token"
    assert secret_in_text("token, at most") == "token"
    assert secret_in_text("token a limit") is None
