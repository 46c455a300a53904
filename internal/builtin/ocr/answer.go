package ocr

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// answer is what Cloud Vision sent back.
type answer struct {
	status     int
	retryAfter string // the header
	body       []byte
}

// status is Google's form of an error, for a request and for one image.
type status struct {
	Code    int    `json:"code"`   // HTTP's for a request, gRPC's for an image
	Status  string `json:"status"` // gRPC's in words; of a request only
	Message string `json:"message"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

type annotated struct {
	Responses []struct {
		Error *status `json:"error"`
		Full  struct {
			Text  string `json:"text"`
			Pages []page `json:"pages"`
		} `json:"fullTextAnnotation"`
	} `json:"responses"`
}

type page struct {
	Confidence float64 `json:"confidence"`
	Blocks     []struct {
		Confidence float64 `json:"confidence"`
	} `json:"blocks"`
}

// text reads the answer. secret is what the request was sent with: should the
// answer repeat it, no message does.
func (a *answer) text(secret string) (Text, error) {
	if a.status != http.StatusOK {
		var refusal struct {
			Error status `json:"error"`
		}
		if json.Unmarshal(a.body, &refusal) != nil {
			refusal.Error = status{} // a page of something in between: its status must do
		}
		return Text{}, refusal.Error.err(a.status, a.retryAfter, secret)
	}
	var got annotated
	if json.Unmarshal(a.body, &got) != nil || len(got.Responses) == 0 {
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "the answer of Google Cloud Vision is not one to images:annotate: check that ocr-vision-url leads to Cloud Vision, and that nothing in between changes answers")
	}
	r := &got.Responses[0]
	if r.Error != nil && r.Error.Code != 0 {
		return Text{}, r.Error.err(httpStatus(r.Error.Code), a.retryAfter, secret)
	}
	lines := textLines(r.Full.Text)
	if len(lines) == 0 {
		return Text{Lines: []string{}}, nil
	}
	return Text{Text: r.Full.Text, Confidence: confidence(r.Full.Pages), Lines: lines}, nil
}

// textLines are the lines that are not blank, in the order they stand in.
func textLines(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// confidence is the mean over the pages that have one: their own, or the mean
// of their blocks.
func confidence(pages []page) float64 {
	var all mean
	for _, p := range pages {
		if p.Confidence > 0 {
			all.add(p.Confidence)
			continue
		}
		var blocks mean
		for _, b := range p.Blocks {
			if b.Confidence > 0 {
				blocks.add(b.Confidence)
			}
		}
		if blocks.n > 0 {
			all.add(blocks.value())
		}
	}
	return all.value()
}

// mean is of shares: what is added counts as 0 to 1.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+min(max(v, 0), 1), m.n+1 }

// value is rounded to what is meant: engines say no more than four digits.
func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Round(m.sum/float64(m.n)*1e4) / 1e4
}

// httpStatus is the HTTP status for the gRPC codes that one image can fail with.
func httpStatus(code int) int {
	switch code {
	case 3, 9, 11: // invalid argument, failed precondition, out of range
		return http.StatusBadRequest
	case 4: // deadline exceeded
		return http.StatusGatewayTimeout
	case 7: // permission denied
		return http.StatusForbidden
	case 8: // resource exhausted
		return http.StatusTooManyRequests
	case 16: // unauthenticated
		return http.StatusUnauthorized
	case 14: // unavailable
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// err says what a refusal means and what to do about it.
func (s *status) err(code int, retryAfter, secret string) error {
	said := ""
	if m := scrub(s.Message, secret); m != "" {
		said = ": " + m
	}
	upstream := func(format string, args ...any) error {
		return &junctor.Error{Code: junctor.CodeUpstream, Message: fmt.Sprintf(format, args...) + said}
	}
	switch {
	case code == http.StatusTooManyRequests || s.Status == "RESOURCE_EXHAUSTED":
		wait := s.wait(retryAfter)
		return &junctor.Error{
			Code: junctor.CodeLimited, RetryAfter: wait,
			Message: fmt.Sprintf("the quota of Google Cloud Vision is used up: try again in %v, or raise the quota in the Google Cloud console", wait) + said,
		}
	case code == http.StatusUnauthorized, code == http.StatusBadRequest && strings.Contains(s.Message, "API key"):
		return upstream("Google Cloud Vision does not accept the credential (status %d); check that the key is complete and not deleted", code)
	case code == http.StatusForbidden:
		return upstream("Google Cloud Vision does not let this credential in (status 403); check that the Vision API is switched on and billed in its project, and that the key may use it")
	case code == http.StatusRequestEntityTooLarge, code == http.StatusBadRequest && strings.Contains(s.Message, "payload size exceeds"):
		return unfit(junctor.CodeTooLarge, imagePath, "the image is too large for Google Cloud Vision: make it smaller; 300 dots per inch are enough for text")
	case code == http.StatusBadRequest:
		return upstream("Google Cloud Vision cannot read this image (status 400); check that it is not damaged")
	case code == http.StatusGatewayTimeout:
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "Google Cloud Vision did not finish in time: try again, or use a smaller image"}
	case code >= 500:
		return upstream("Google Cloud Vision is in trouble (status %d); try again later", code)
	}
	return upstream("Google Cloud Vision answered with status %d instead of text; check that ocr-vision-url leads to it", code)
}

// wait is how long to wait for more quota: as the answer says, or a minute,
// since that is what most quotas are counted by.
func (s *status) wait(header string) time.Duration {
	const usual, most = time.Minute, 24 * time.Hour
	for _, d := range s.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return min(wait.Round(time.Millisecond)+time.Millisecond, most)
		}
	}
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 && seconds < int(most/time.Second) {
		return time.Duration(seconds) * time.Second
	}
	return usual
}
