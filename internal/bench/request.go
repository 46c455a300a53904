package bench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// outcome is the result of judging an answer.
type outcome uint8

// The outcomes, from best to worst. A crossed answer would mean that one client
// received the data of another.
const (
	outcomeRight outcome = iota
	// No answer, another status than 200, or an error.
	outcomeFailed
	// An answer without the text that was sent.
	outcomeWrong
	// An answer to another call.
	outcomeCrossed
)

// firstID has as many digits as every following id. So a request keeps its
// length, and only its digits are overwritten.
const (
	firstID  = 1_000_000_000
	idDigits = 10
)

// request is one prepared HTTP request that is sent again and again with new ids.
// In tools/call the argument contains the id, too, which makes its text unique.
type request struct {
	// The whole HTTP request. writeID changes it in place.
	bytes []byte
	// Where the id is in bytes.
	idOffsets []int
	// Part of bytes: the text that the right answer contains.
	want []byte
	// Beginning of all texts of this load; nil without texts.
	runMark []byte
	// Text that every right answer contains as well; nil for none.
	requiredText []byte
}

// newRequest prepares the request of one connection. run distinguishes the texts
// of one load from those of others, so that an answer from a cache is noticed.
func newRequest(j job, s session, run string) *request {
	id := strconv.Itoa(firstID)
	head := `{"jsonrpc":"2.0","id":` + id + `,"method":` + strconv.Quote(j.Method) + `,"params":{`
	modern := ""
	if s.version >= versionModern {
		modern = modernMeta
	}
	if j.Method == methodList {
		r := &request{bytes: buildPost(j.Endpoint, s, j.Method, "", []byte(head+modern+`}}`))}
		at := bytes.LastIndex(r.bytes, []byte(head)) + strings.Index(head, id)
		r.idOffsets = []int{at}
		r.want = r.bytes[at : at+len(id)]
		r.requiredText = fmt.Appendf(nil, `"name":%q`, j.Tool)
		return r
	}
	mark := "~" + run + "."
	text := mark + id + "~"
	// Pad the text to the wanted length with characters that need no escape.
	if pad := j.ArgBytes - len(text); pad > 0 {
		const letters = "abcdefghijklmnopqrstuvwxyz012345"
		text += strings.Repeat(letters, pad/len(letters)+1)[:pad]
	}
	if modern != "" {
		modern += ","
	}
	params := modern + `"name":` + strconv.Quote(j.Tool) + `,"arguments":{` + strconv.Quote(j.Argument) + `:"`
	r := &request{bytes: buildPost(j.Endpoint, s, j.Method, j.Tool, []byte(head+params+text+`"}}}`)), runMark: []byte(mark)}
	body := bytes.LastIndex(r.bytes, []byte(head))
	at := body + len(head) + len(params)
	r.idOffsets = []int{body + strings.Index(head, id), at + len(mark)}
	r.want = r.bytes[at : at+len(text)]
	return r
}

// writeID overwrites the id.
func (r *request) writeID(id uint64) {
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], id, 10)
	for _, at := range r.idOffsets {
		copy(r.bytes[at:], d)
	}
}

// judgeAnswer judges the answer to the request with its current id.
func (r *request) judgeAnswer(a answer) outcome {
	switch {
	case a.status != 200,
		bytes.Contains(a.body, []byte(`"isError":true`)),
		bytes.Contains(a.body, []byte(`"error":{`)):
		return outcomeFailed
	case bytes.Contains(a.body, r.want) && bytes.Contains(a.body, r.requiredText):
		return outcomeRight
	case r.runMark == nil || !bytes.Contains(a.body, r.runMark):
		return outcomeWrong
	case bytes.Contains(a.body, r.want[:len(r.runMark)+idDigits]):
		return outcomeWrong // our own text, but incomplete
	}
	return outcomeCrossed
}
