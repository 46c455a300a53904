package policy

import (
	"path"
	"strings"
)

// plainName returns one spelling of a resource's name for all those that servers
// understand alike: the scheme and the host in lower case, characters instead of their
// percent-encoding, the path after .. is resolved, and no fragment. It allocates nothing
// for a name that is spelled so.
func plainName(uri string) string {
	if isPlainName(uri) {
		return uri
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return uri
	}
	scheme = strings.ToLower(scheme)
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, asks := strings.Cut(rest, "?")
	host := ""
	if after, has := strings.CutPrefix(rest, "//"); has {
		at := strings.IndexByte(after, '/')
		if at < 0 {
			at = len(after)
		}
		host, rest = "//"+strings.ToLower(after[:at]), after[at:]
	}
	rest = decodePercent(rest)
	if strings.HasPrefix(rest, "/") {
		folder := len(rest) > 1 && strings.HasSuffix(rest, "/")
		if rest = path.Clean(rest); folder && rest != "/" {
			rest += "/"
		}
		if scheme == "file" && (host == "" || host == "//localhost") {
			host = "//"
		}
	}
	out := scheme + ":" + host + rest
	if asks {
		out += "?" + decodePercent(query)
	}
	return out
}

// isPlainName reports whether plainName has nothing to change. It may be false for names
// that are plain.
func isPlainName(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return true
	}
	after, has := strings.CutPrefix(rest, "//")
	host, _, _ := strings.Cut(after, "/")
	if !has {
		host = ""
	}
	return !strings.ContainsAny(rest, "%#") && !strings.Contains(after, "//") && !strings.Contains(after, "/.") &&
		(has || !strings.HasPrefix(rest, "/")) && (scheme != "file" || host == "") && !hasUpper(scheme) && !hasUpper(host)
}

func hasUpper(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 0x80 })
}

// decodePercent decodes percent-encoded bytes once. What is no encoding stays.
func decodePercent(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high < 16 && low < 16 {
				out = append(out, high<<4|low)
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// hexDigit returns the value of a hexadecimal digit; 16 if it is none.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
