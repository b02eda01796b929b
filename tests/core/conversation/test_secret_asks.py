"""Words that ask for a secret, and words that only look like it."""

# ruff: noqa: RUF001  (letters that look like others are what this file is about)

from __future__ import annotations

import pytest

from mcp_jail.core.conversation.secret_asks import secret_in_name, secret_in_text

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
    pswd userPswd psw mdp mdp_actuel auth Authorization basicAuth http_authorization x-authorization
    pat PAT githubPat gitlab_pat clave usuario_clave parola parola_d_ordine loginKey login_keys
    clave_de_acceso geheimzahl zugangscode jelszó lozinka парола palavra-passe mật_khẩu
    パスワード pass-wo-rd pAsSwOrD 비밀번호 wachtwoord senha hasło connection_string
""".split()

WORDS = """
    secret pwd pw cvv cvc cvv2 cvc2 ssn otp totp hotp mfa 2fa tfa cookie jwt bearer mnemonic senha
    hasło haslo şifre sifre kodeord adgangskode heslo salasana pswd psw mdp geheimzahl
    zugangscode jelszó jelszo lozinka zaporka parool парола лозинка password passwd passphrase
    passcode passkey passwort kennwort contraseña contrasena motdepasse wachtwoord lösenord losenord
    пароль
    密码 密碼 口令 パスワード 暗証 비밀번호 credential apikey privatekey secretkey accesskey
    accesstoken authtoken refreshtoken bearertoken clientsecret seedphrase cardnumber creditcard
    token
""".split()

PHRASES = """
    pass word, pass phrase, pass code, pass key, mot de passe, kata sandi, api key, access key,
    private key, ssh key, signing key, encryption key, decryption key, master key, recovery key,
    account key, seed phrase, seed word, wallet seed, recovery phrase, recovery word, recovery code,
    backup code, security code, security answer, login code, verification code, auth code,
    authentication code, authenticator code, sms code, digit code, code we sent, code sent,
    one time code, one time pin, two factor code, 2 factor code, 2 fa, factor authentication,
    card number, credit card, debit card, social security, connection string, card verification,
    pin code, pin number, login key, palavra passe, parola d ordine, parola segreta,
    clave de acceso, clave secreta, clave privada, su clave, tu clave, mat khau
""".replace("\n", " ").strip()

HARMLESS = """
    spinner tokenizer_count tokenizer maxTokens max_tokens token_limit tokenCount tokens_per_minute
    opinion pinned pin_version pinMessage secretary compass compassion passenger bypass_words
    pass_rate classword keyword monkey key issue_key keyboard seed random_seed code zip_code
    postcode country_code username email name repo description author authority session number
    account options shipping address discard cardinal otpauthless hotpot class Ωmega naïve état
    auth_method auth_type authType requires_auth author_id authorization_url pattern file_pat
    patient palabra_clave clave_de_busqueda parola_chiave una_parola path_pat compat
    loginKeyboard pswdless
    名前 имя yes gas s x 1 2024 λ
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_asks_for_a_secret_is_told(name: str) -> None:
    assert secret_in_name(name)


@pytest.mark.parametrize("word", WORDS)
def test_each_word_for_a_secret_is_told_in_a_text(word: str) -> None:
    assert secret_in_text(f"Your {word}!") is not None
    assert secret_in_text(f"Your {word.upper()}!") is not None
    assert secret_in_text(f"Your ({word})") is not None


@pytest.mark.parametrize("phrase", [" ".join(each.split()) for each in PHRASES.split(",")])
def test_each_phrase_for_a_secret_is_told_in_a_text(phrase: str) -> None:
    assert secret_in_text(f"my {phrase}, please") == phrase
    assert secret_in_text(phrase.title()) == phrase
    assert secret_in_text(phrase.replace(" ", "-")) == phrase


@pytest.mark.parametrize(
    "word",
    "max maximum min minimum count number num total limit budget size used usage per".split(),
)
def test_tokens_that_are_counted_are_none_to_keep(word: str) -> None:
    assert secret_in_name(f"{word}_tokens") is None
    assert secret_in_name(f"{word}Tokens") is None
    assert secret_in_name(f"tokens_{word}") is None


def test_a_short_word_at_the_end_of_a_name_is_told() -> None:
    assert secret_in_name("card_pin") == "pin"
    assert secret_in_name("db_pass") == "pass"
    assert secret_in_text("db_pass") is None


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
        ("Paste the contents of ~/.ssh/id_rsa", "a file that is one"),
        ("the content of your .env file", "a file that is one"),
        ("Inhalt von ~/.ssh", "a file that is one"),
        ("output of `cat ~/.aws/credentials`", "a file that is one"),
        ("Your GitHub PAT, please", "PAT"),
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
        "Where does your .env file lie?",
        "The path of your SSH config, such as ~/.ssh/config",
        "Inserisci una parola",
        "una palabra clave para la búsqueda",
        "Which authorization flow do you use, basic auth or none?",
        "the content of the message",
        "Copy .env.example to which file?",
        "Paste the contents of ~/.ssh/id_ed25519.pub",
        "Where shall the output go? Your .env is not touched.",
        "Copy the public key to which host (~/.ssh/authorized_keys)?",
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
