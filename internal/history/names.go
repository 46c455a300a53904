package history

import "strings"

// secrecy is how sure a name makes it that its value is secret.
type secrecy uint8

const (
	plain secrecy = iota // says nothing
	soft                 // a text is secret; a number is a count
	hard
)

// secrecyOf judges a name. Case and signs do not matter: api_key, API-Key and
// apiKey are one name.
func secrecyOf(name string) secrecy {
	if len(name) > 128 {
		name = name[:128]
	}
	n := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
	switch n {
	case "pass", "pw", "pin", "otp", "totp", "mfa", "cvv", "cvc", "ssn", "auth", "sid", "sas", "pem", "dsn":
		return hard
	}
	for _, part := range []string{
		"password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "credential", "apikey", "privatekey", "accesskey",
		"authkey", "signingkey", "encryptionkey", "masterkey", "sshkey", "sharedkey", "accountkey", "servicekey", "clientkey", "authorization",
		"bearer", "cookie", "sessionid", "sessionkey", "connectionstring", "jwt", "signature", "authcode", "verificationcode", "pincode",
		"creditcard", "cardnumber", "serviceaccount", "requeststate",
	} {
		if strings.Contains(n, part) && !strings.Contains(n, "secretar") {
			return hard
		}
	}
	if strings.Contains(n, "token") && !strings.Contains(n, "tokeniz") || n == "session" || n == "sessions" || strings.HasSuffix(n, "session") {
		return soft
	}
	return plain
}
