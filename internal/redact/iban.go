package redact

// Lengths of IBANs.
const (
	minIBAN = 15
	maxIBAN = 34
)

// ibanLength returns the length of the IBANs of a country; 0 if it is not known.
func ibanLength(country string) int {
	switch country {
	case "NO":
		return 15
	case "BE":
		return 16
	case "DK", "FI", "FK", "FO", "GL", "NL", "SD":
		return 18
	case "MK", "SI":
		return 19
	case "AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK":
		return 20
	case "CH", "CR", "HR", "LI", "LV":
		return 21
	case "BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS", "VA":
		return 22
	case "AE", "GI", "IL", "IQ", "OM", "SO", "TL":
		return 23
	case "AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG":
		return 24
	case "LY", "PT", "ST":
		return 25
	case "IS", "TR":
		return 26
	case "BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM":
		return 27
	case "AL", "AZ", "BY", "CY", "DO", "GT", "HN", "HU", "LB", "NI", "PL", "SV":
		return 28
	case "BR", "EG", "PS", "QA", "UA":
		return 29
	case "JO", "KW", "MU", "YE":
		return 30
	case "MT", "SC":
		return 31
	case "LC":
		return 32
	case "RU":
		return 33
	}
	return 0
}

// ibanEnd returns the end of the IBAN that begins at i; 0 if there is none. Its
// groups may have spaces or hyphens between them. An IBAN of an unknown country is
// found if it has none.
func ibanEnd(s []byte, least, i int) int {
	if i+4 > len(s) || !isLetter(s[i]) || !isLetter(s[i+1]) || !isDigit(s[i+2]) || !isDigit(s[i+3]) || i > least && isAlphanumeric(s[i-1]) {
		return 0
	}
	country := [2]byte{s[i] &^ 0x20, s[i+1] &^ 0x20}
	length := ibanLength(string(country[:]))
	separated := length > 0
	if length == 0 {
		for length < maxIBAN && i+length < len(s) && isAlphanumeric(s[i+length]) {
			length++
		}
		if length < minIBAN {
			return 0
		}
	}
	var text [maxIBAN]byte
	n, end := 0, i
	for n < length && end < len(s) {
		c := s[end]
		switch {
		case isDigit(c):
			text[n] = c
			n++
		case isLetter(c):
			text[n] = c &^ 0x20
			n++
		case !separated || separatorSize(s[end:], " -") == 0 || end+1 >= len(s) || separatorSize(s[end-1:], " -") > 0:
			return 0
		}
		end++
		if c == 0xc2 {
			end++
		}
	}
	if n < length || end < len(s) && isAlphanumeric(s[end]) {
		return 0
	}
	remainder := 0
	for at := range length {
		c := text[(at+4)%length]
		if isDigit(c) {
			remainder = (remainder*10 + int(c-'0')) % 97
		} else {
			remainder = (remainder*100 + int(c-'A') + 10) % 97
		}
	}
	if remainder != 1 {
		return 0
	}
	return end
}
