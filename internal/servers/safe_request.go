package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// safeRequestTime bounds the safe request of a test.
const safeRequestTime = 30 * time.Second

// The steps of a test of a generated server.
const (
	stepDocument = "document" // its stored document yields tools
	stepRequest  = "request"  // the API has answered a request that changes nothing
)

// testGenerated tests a generated server: it calls the tool that changes nothing and
// needs no argument, in the pipeline, as the principal. If there is no such tool, the
// probe says why no request was sent.
func (s *Registry) testGenerated(ctx context.Context, p *junctor.Principal, row *junctor.Server) (junctor.Probe, error) {
	probe := junctor.Probe{Passed: []string{}, Tools: []string{}}
	if row.State == junctor.StateInactive {
		probe.Skipped = "the server is switched off, so no request was sent: switch it on with junctor server enable " + row.ID
		return probe, nil
	}
	s.addStatus(row)
	tools := s.Tools(p, row.ID, "", "")
	for _, t := range tools {
		probe.Tools = append(probe.Tools, t.Name)
	}
	switch {
	case row.LastError != "":
		probe.Failed, probe.Reason = stepDocument, row.LastError
		return probe, nil
	case len(tools) == 0:
		probe.Failed, probe.Reason = stepDocument, "the document yields no tool that you may use"
		probe.Hint = "junctor server validate " + row.ID + " says why"
		return probe, nil
	}
	probe.Passed = append(probe.Passed, stepDocument)
	probe.Status.Connected, probe.Status.Tools = true, len(tools)
	tool, found := findSafeTool(tools)
	switch {
	case row.PerUser() && p.User == "":
		probe.Skipped = "no request was sent: the server is called with the credentials of each user; test it with the key of a user who has entered theirs"
		return probe, nil
	case !found:
		probe.Skipped = "no request was sent: each operation of the API needs an argument, or may change something; try one with junctor tool call"
		return probe, nil
	}
	ctx, cancel := context.WithTimeout(ctx, safeRequestTime)
	defer cancel()
	probe.Called = tool.Exposed
	began := time.Now()
	body, isError, err := s.CallTool(ctx, p, tool.Exposed, "", []byte("{}"))
	switch {
	case err != nil:
		e := junctor.AsError(err)
		probe.Failed, probe.Reason = stepRequest, e.Message
		if e.Code == junctor.CodeUnreachable {
			probe.Failed, probe.Hint = "address", "check base_url, which is "+HostOnly(row.URL)+", and that the API runs"
		}
	case isError:
		probe.Failed, probe.Reason = stepRequest, firstText(body)
		probe.Hint = "junctor tool call " + tool.Exposed + " shows all of it; check the credentials with junctor server show " + row.ID
	default:
		probe.Passed = append(probe.Passed, stepRequest)
		probe.Status.LatencyMS = float64(time.Since(began).Microseconds()) / 1000
	}
	if probe.Failed != "" {
		probe.Status.Connected = false
	}
	return probe, nil
}

// findSafeTool returns the tool that reads, needs no argument, and takes the fewest. The
// annotations of generated tools are derived from the operation: GET, HEAD and queries
// only read.
func findSafeTool(tools []junctor.Tool) (junctor.Tool, bool) {
	type schema struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var safe []junctor.Tool
	arguments := map[string]int{}
	for _, t := range tools {
		var s schema
		reads := string(wire.Get(t.Annotations, "readOnlyHint")) == "true"
		if reads && json.Unmarshal(t.InputSchema, &s) == nil && len(s.Required) == 0 {
			safe = append(safe, t)
			arguments[t.Exposed] = len(s.Properties)
		}
	}
	if len(safe) == 0 {
		return junctor.Tool{}, false
	}
	return slices.MinFunc(safe, func(a, b junctor.Tool) int {
		return cmp.Or(cmp.Compare(arguments[a.Exposed], arguments[b.Exposed]), strings.Compare(a.Name, b.Name))
	}), true
}

// maxReason bounds the text of an answer that a probe quotes, in bytes.
const maxReason = 300

// firstText returns the beginning of the first text of a tool result.
func firstText(result []byte) string {
	var body struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &body) != nil || len(body.Content) == 0 {
		return "the answer is an error without text"
	}
	return junctor.ShortenText(body.Content[0].Text, maxReason)
}
