package redact

import "strings"

// Secrecy is how certainly a name marks its value as secret.
type Secrecy uint8

// The degrees of secrecy.
const (
	NotSecret Secrecy = iota // the name is no evidence
	// A text is secret, but a number is a count, as in max_tokens.
	SecretText
	SecretValue // every value is secret
)

// ClassifyName classifies the name of a value. Case and punctuation do not matter:
// api_key, API-Key and apiKey are the same name.
func ClassifyName(name []byte) Secrecy {
	var letters [128]byte
	k := 0
	for _, c := range name[:min(len(name), len(letters))] {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			letters[k] = c
			k++
		}
	}
	n := string(letters[:k])
	switch n {
	case "pass", "pw", "pin", "otp", "totp", "mfa", "cvv", "cvc", "ssn", "auth", "sid", "sas", "pem", "dsn":
		return SecretValue
	}
	for _, part := range []string{
		"password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "credential", "apikey", "privatekey", "accesskey",
		"authkey", "signingkey", "encryptionkey", "masterkey", "sshkey", "sharedkey", "accountkey", "servicekey", "clientkey", "authorization",
		"bearer", "cookie", "sessionid", "sessionkey", "connectionstring", "jwt", "signature", "authcode", "verificationcode", "pincode",
		"creditcard", "cardnumber", "serviceaccount", "requeststate",
	} {
		if strings.Contains(n, part) && !strings.Contains(n, "secretar") {
			return SecretValue
		}
	}
	if strings.Contains(n, "token") && !strings.Contains(n, "tokeniz") || n == "session" || n == "sessions" || strings.HasSuffix(n, "session") {
		return SecretText
	}
	return NotSecret
}
