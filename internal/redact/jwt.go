package redact

import "bytes"

// minJWT is the length of the shortest text that is taken for a JWT.
const minJWT = 20

// findJWT returns the bounds of the first JSON Web Token at or after a place: three
// parts in base64url, the first of which begins like a JSON object. Encrypted ones
// have five parts.
func findJWT(s []byte, at int) (from, to int) {
	for {
		// Of eyJ, the J is by far the rarest letter in texts.
		n := bytes.IndexByte(s[at:], 'J')
		if n < 0 {
			return 0, 0
		}
		from = at + n - 2
		begins := n >= 2 && s[from] == 'e' && s[from+1] == 'y'
		if at += n + 1; !begins || from > 0 && isWordByte(s[from-1]) {
			continue
		}
		dots := 0
		to = from
		for to < len(s) && (isWordByte(s[to]) || s[to] == '.' && dots < 4) {
			if s[to] == '.' {
				dots++
			}
			to++
		}
		for to > from && s[to-1] == '.' && dots > 2 { // the end of a sentence
			to--
			dots--
		}
		if dots >= 2 && to-from >= minJWT {
			return from, to
		}
		at = max(at, to)
	}
}
