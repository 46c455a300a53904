package upstream

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// Forms of elicitations are checked here: the specification forbids servers to ask for
// secrets with one. The purpose of a field is in its name, title and description, and in
// the message above the form, in words that the server chooses. So this is a filter
// against careless and common attempts, and no proof. Clients show people which server
// asks.

// maxFormDepth bounds how deep a form is searched. The specification has only flat forms.
// Deeper ones are refused, since their fields were not checked.
const maxFormDepth = 4

// formChecker checks one form.
type formChecker struct {
	root          []byte // for references
	takesFreeText bool   // a person can type something into a field
}

// refuseForm returns the reason why a form with its message is not shown to
// people; "" if it is.
func refuseForm(schema []byte, message string) string {
	if len(schema) == 0 || schema[0] != '{' {
		return ""
	}
	f := &formChecker{root: schema}
	if why := f.refuseFields(schema, 0); why != "" {
		return why
	}
	if f.takesFreeText && demandsSecret(message) {
		return reasonSecret("its message")
	}
	return ""
}

// reasonSecret is the reason for refusing a form with a field for a secret.
func reasonSecret(field string) string {
	return "the form asks for a secret (" + clipText(field) + "): the MCP specification requires the mode url for secrets"
}

// reasonNotFlat is the reason for refusing a form that cannot be checked completely.
const reasonNotFlat = "requestedSchema is not flat: the MCP specification allows only string, number, boolean and enum fields"

// refuseFields returns the reason why the fields of a form, or of a part of it,
// are refused.
func (f *formChecker) refuseFields(schema []byte, depth int) string {
	schema, ok := f.resolveRef(schema)
	if !ok || depth > maxFormDepth || hasAny(schema, "if", "then", "else", "not", "patternProperties", "dependentSchemas") {
		return reasonNotFlat
	}
	for _, part := range collectSubschemas(schema, "allOf", "anyOf", "oneOf") {
		if why := f.refuseFields(part, depth+1); why != "" {
			return why
		}
	}
	properties := wire.Get(schema, "properties")
	if len(properties) == 0 || properties[0] != '{' {
		return ""
	}
	for key, field := range wire.Members(properties) {
		if why := f.refuseField(wire.Unescape(key), field, depth); why != "" {
			return why
		}
	}
	return ""
}

// refuseField returns the reason why one field is refused. Choices and booleans
// pass: a person can enter no secret there.
func (f *formChecker) refuseField(name string, field []byte, depth int) string {
	field, ok := f.resolveRef(field)
	if !ok || depth > maxFormDepth || hasAny(field, "properties", "if", "then", "else", "not", "patternProperties", "dependentSchemas") || hasType(field, "object") {
		return reasonNotFlat
	}
	format, _ := wire.String(wire.Get(field, "format"))
	if strings.EqualFold(format, "password") || string(wire.Get(field, "writeOnly")) == "true" {
		return reasonSecret(name)
	}
	inner := collectSubschemas(field, "allOf", "anyOf", "oneOf")
	if items := wire.Get(field, "items"); len(items) > 0 {
		if hasType(items, "array") {
			return reasonNotFlat
		}
		inner = append(inner, items)
	}
	for _, part := range inner {
		if why := f.refuseField(name, part, depth+1); why != "" {
			return why
		}
	}
	if hasType(field, "boolean") || isChoice(field) || slices.ContainsFunc(inner, isChoice) {
		return "" // the person picks from values that the server already knows
	}
	f.takesFreeText = f.takesFreeText || !hasType(field, "null")
	title, _ := wire.String(wire.Get(field, "title"))
	description, _ := wire.String(wire.Get(field, "description"))
	number := hasType(field, "integer") || hasType(field, "number")
	if namesSecret(name, number) || namesSecret(title, number) || demandsSecret(title) || demandsSecret(description) || len(nameWords(description)) <= 3 && namesSecret(description, number) {
		return reasonSecret(name)
	}
	return ""
}

// resolveRef follows a reference to a definition within the form, as schema generators
// write them. ok is false if it leads nowhere.
func (f *formChecker) resolveRef(schema []byte) (at []byte, ok bool) {
	for range maxFormDepth {
		if len(schema) == 0 || schema[0] != '{' {
			return schema, true
		}
		ref := wire.Get(schema, "$ref")
		if ref == nil {
			return schema, true
		}
		text, _ := wire.String(ref)
		home, name, _ := strings.Cut(strings.TrimPrefix(text, "#/"), "/")
		if !strings.HasPrefix(text, "#/") || home != "$defs" && home != "definitions" {
			return nil, false
		}
		schema = wire.Get(wire.Get(f.root, home), name)
		if schema == nil {
			return nil, false
		}
	}
	return nil, false
}

// collectSubschemas gives the schemas in members that are lists of schemas.
func collectSubschemas(schema []byte, members ...string) (all [][]byte) {
	if len(schema) == 0 || schema[0] != '{' {
		return nil
	}
	for _, member := range members {
		if list := wire.Get(schema, member); len(list) > 0 && list[0] == '[' {
			for one := range wire.Elements(list) {
				all = append(all, one)
			}
		}
	}
	return all
}

// hasAny reports whether a schema has one of the members.
func hasAny(schema []byte, members ...string) bool {
	return len(schema) > 0 && schema[0] == '{' && slices.ContainsFunc(members, func(m string) bool { return wire.Get(schema, m) != nil })
}

// hasType reports whether a schema has a type, alone or together with null.
func hasType(schema []byte, kind string) bool {
	if len(schema) == 0 || schema[0] != '{' {
		return false
	}
	value := wire.Get(schema, "type")
	if len(value) == 0 || value[0] != '[' {
		one, _ := wire.String(value)
		return one == kind
	}
	found, alone := false, true
	for raw := range wire.Elements(value) {
		one, _ := wire.String(raw)
		found = found || one == kind
		alone = alone && (one == kind || one == "null")
	}
	return found && (alone || kind == "object") // a field that may be an object counts as one
}

// isChoice reports whether a person picks from values of the server.
func isChoice(schema []byte) bool { return hasAny(schema, "enum", "const") }

// secretParts are words for secrets that count anywhere in a name whose words are joined.
func secretParts() []string {
	return []string{
		"password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "motdepasse", "contrasena", "secret", "credential",
		"apikey", "accesskey", "privatekey", "privkey", "signingkey", "encryptionkey", "masterkey", "sshkey", "authkey", "deploykey",
		"apitoken", "accesstoken", "authtoken", "refreshtoken", "sessiontoken", "bearertoken", "githubtoken", "gitlabtoken", "personalaccess",
		"mnemonic", "seedphrase", "recoveryphrase", "recoverycode", "backupcode", "securitycode", "onetimecode", "socialsecurity", "creditcard", "debitcard", "cardnumber", "cardcode",
	}
}

// harmlessParts contain a word of secretParts, or end like a secret, and are none. They
// are removed from a name before it is searched.
func harmlessParts() []string {
	return []string{
		"secretary", "secretaries", "secretariat", "secretion", "secretsanta", "passport", "passenger", "passage", "passing", "passive", "passion",
		"encompass", "compass", "bypass", "trespass", "surpass", "overpass", "underpass",
	}
}

// isSecretWord reports whether a word of a name, without digits, names a secret.
func isSecretWord(w string) bool {
	return slices.Contains([]string{"pwd", "psw", "pswd", "cvv", "cvc", "cvn", "ssn", "otp", "totp", "mfa", "pincode", "senha"}, w)
}

// isSecretText reports whether a word names a secret in a text field. In a number field
// the same word is a count, such as tokens.
func isSecretText(w string) bool {
	if slices.Contains([]string{"pw", "pat", "bearer", "jwt"}, w) || strings.HasSuffix(w, "token") || strings.HasSuffix(w, "pwd") {
		return true
	}
	return strings.HasSuffix(w, "pass") && !slices.Contains(harmlessParts(), w)
}

// isSecretKey reports whether "key" names a secret after this word.
func isSecretKey(before string) bool {
	return slices.Contains([]string{"api", "private", "access", "signing", "encryption", "ssh", "auth", "master", "deploy", "wallet", "openai", "anthropic", "aws"}, before)
}

// describesSecret reports whether a word turns a name into a property of a secret, such
// as a password policy.
func describesSecret(w string) bool {
	return slices.Contains([]string{
		"name", "names", "id", "ids", "count", "length", "policy", "type", "types", "kind", "limit", "limits", "budget", "usage", "expiry", "expires", "expiration", "age", "days", "rotation", "manager", "provider",
		"label", "format", "strength", "hint", "attempts", "scope", "scopes", "symbol", "address", "amount", "balance", "price", "index", "version", "path", "email", "status", "rate", "date", "through", "fail", "ratio",
	}, w)
}

// qualifiesHarmless reports whether a word before token or pass shows that it is no
// secret: page token, boarding pass.
func qualifiesHarmless(w string) bool {
	return slices.Contains([]string{
		"max", "min", "per", "page", "next", "previous", "cursor", "continuation", "stop", "start", "end", "boarding", "day", "season", "ski", "bus", "train", "rail", "guest", "visitor", "parking", "event", "backstage",
		"first", "second", "number", "reward", "governance",
	}, w)
}

// namesSecret reports whether a name is that of a secret. number means that the field
// takes a number.
func namesSecret(name string, number bool) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	if len(words) > 1 && describesSecret(words[len(words)-1]) || len(words) > 2 && describesSecret(words[0]) && (words[1] == "of" || words[1] == "for") {
		return false
	}
	if number && slices.ContainsFunc(words, func(w string) bool { return qualifiesHarmless(w) || describesSecret(w) }) {
		return false
	}
	for _, text := range []string{strings.Join(words, ""), decodeLeet(name)} {
		for _, part := range harmlessParts() {
			text = strings.ReplaceAll(text, part, " ")
		}
		if slices.ContainsFunc(secretParts(), func(part string) bool { return strings.Contains(text, part) }) {
			return true
		}
	}
	for i, w := range words {
		before, next := "", ""
		if i > 0 {
			before = words[i-1]
		}
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "pin":
			if next == "" || next == "code" || next == "number" {
				return true
			}
		case isSecretWord(w):
			return true
		case number || qualifiesHarmless(before) || describesSecret(next):
		case isSecretText(w), w == "key" && isSecretKey(before):
			return true
		}
	}
	return false
}

// isDemand reports whether a word asks somebody to give something.
func isDemand(w string) bool {
	return slices.Contains([]string{
		"enter", "type", "provide", "give", "paste", "input", "supply", "tell", "send", "confirm", "share", "need", "needs", "require", "requires", "submit", "insert", "specify", "your", "reenter", "repeat", "fill", "use",
	}, w)
}

// isDenial reports whether a word negates a demand that follows.
func isDenial(w string) bool {
	return slices.Contains([]string{"not", "never", "don", "dont", "without", "no", "cannot", "won", "doesn"}, w)
}

// isMention reports whether a word shows that a secret is only talked about.
func isMention(w string) bool {
	return slices.Contains([]string{
		"reset", "resetting", "rotate", "rotating", "forgot", "forgotten", "change", "changing", "recover", "recovering", "id", "identifier", "length", "path", "hint", "count", "whether", "policy",
	}, w)
}

// maxPhraseWords is how many words after a demand may name its object.
const maxPhraseWords = 8

// demandsSecret reports whether a sentence asks for a secret. "Enter your password" does.
// "We never ask for your password" and "the email to reset your password" do not.
func demandsSecret(text string) bool {
	for sentence := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".!?;\n", r) }) {
		words := nameWords(sentence)
		for i, w := range words {
			if !isDemand(w) || slices.ContainsFunc(words[max(0, i-4):i], isDenial) {
				continue
			}
			if w == "your" && slices.ContainsFunc(words[max(0, i-2):i], isMention) {
				continue
			}
			if asksForSecret(words[i+1 : min(len(words), i+1+maxPhraseWords)]) {
				return true
			}
		}
	}
	return false
}

// asksForSecret reports whether the words after a demand name a secret, and not a
// property of one.
func asksForSecret(words []string) bool {
	for i, w := range words {
		if isMention(w) || i > 0 && (w == "of" || w == "for") && describesSecret(words[i-1]) {
			return false
		}
		for n := 1; n <= 3 && i+n <= len(words); n++ {
			if i+n < len(words) && describesSecret(words[i+n]) {
				continue // such as "password policy"
			}
			if isSecretPhrase(words[i : i+n]) {
				return true
			}
		}
	}
	return false
}

// isSecretPhrase reports whether words name a secret and nothing else.
func isSecretPhrase(words []string) bool {
	text := strings.TrimSuffix(strings.Join(words, ""), "s")
	return slices.Contains(secretParts(), text) || slices.Contains([]string{"pwd", "pin", "pincode", "cvv", "cvc", "ssn", "otp", "token", "bearertoken", "clientsecret", "secretkey", "personalaccesstoken", "creditcardnumber", "socialsecuritynumber"}, text)
}

// foldLookalike gives the Latin letter that a Cyrillic or Greek letter looks like.
func foldLookalike(r rune) rune {
	const theirs, ours = "аеорсухіѕԁѡοαρντκ", "aeopcyxisdwoapvtk"
	for i, one := range []rune(theirs) {
		if one == r {
			return rune(ours[i])
		}
	}
	return r
}

// foldLetters makes letters comparable: without accents, and with Latin letters for
// lookalikes.
func foldLetters(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(foldLookalike(r))
		}
	}
	return out.String()
}

// decodeLeet gives the letters of a name in which digits and signs stand for letters.
func decodeLeet(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '0':
			return 'o'
		case '1', '!':
			return 'i'
		case '3':
			return 'e'
		case '4', '@':
			return 'a'
		case '5', '$':
			return 's'
		case '7':
			return 't'
		}
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, foldLetters(name))
}

// nameWords gives the words of a name in lower case and without digits: apiKey, api_key,
// API-Key and "API key 2" give the same two.
func nameWords(name string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, r := range foldLetters(name) {
		switch {
		case unicode.IsDigit(r), unicode.Is(unicode.Cf, r): // such as in password1, and invisible characters
			continue
		case !unicode.IsLetter(r):
			end()
		case unicode.IsUpper(r) && lower:
			end()
			word.WriteRune(r)
		default:
			word.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}
