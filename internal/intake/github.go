package intake

import (
	"bytes"
	"encoding/json"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// githubShape recognises one type of GitHub event by the members of its
// message: all of requires are present, none of excludes is.
type githubShape struct {
	event              string
	requires, excludes []string
}

// githubShapes returns the events that can be recognised. The first match
// counts, so shapes with more members come before those with fewer.
func githubShapes() []githubShape {
	return []githubShape{
		{"ping", []string{"zen", "hook_id"}, nil},
		{"meta", []string{"hook", "hook_id"}, nil},
		{"push", []string{"ref", "before", "after", "commits"}, nil},
		{"create", []string{"ref", "ref_type", "master_branch"}, nil},
		{"delete", []string{"ref", "ref_type", "pusher_type"}, nil},
		{"issue_comment", []string{"issue", "comment"}, nil},
		{"sub_issues", []string{"sub_issue"}, nil},
		{"issue_dependencies", []string{"blocked_issue"}, nil},
		{"issues", []string{"action", "issue"}, nil},
		{"pull_request_review_comment", []string{"pull_request", "comment"}, nil},
		{"pull_request_review_thread", []string{"pull_request", "thread"}, nil},
		{"pull_request_review", []string{"pull_request", "review"}, nil},
		{"pull_request", []string{"action", "number", "pull_request"}, nil},
		{"discussion_comment", []string{"discussion", "comment"}, nil},
		{"discussion", []string{"action", "discussion"}, nil},
		{"commit_comment", []string{"action", "comment"}, nil},
		{"deployment_protection_rule", []string{"deployment_callback_url"}, nil},
		{"deployment_status", []string{"deployment_status", "deployment"}, nil},
		{"deployment_review", []string{"workflow_run", "since"}, nil},
		{"workflow_job", []string{"action", "workflow_job"}, nil},
		{"deployment", []string{"action", "deployment"}, nil},
		{"workflow_run", []string{"action", "workflow_run"}, nil},
		{"workflow_dispatch", []string{"inputs", "ref", "workflow"}, nil},
		{"repository_dispatch", []string{"branch", "client_payload"}, nil},
		{"check_run", []string{"action", "check_run"}, nil},
		{"check_suite", []string{"action", "check_suite"}, nil},
		{"status", []string{"sha", "state", "context", "branches"}, nil},
		{"release", []string{"action", "release"}, nil},
		{"fork", []string{"forkee"}, []string{"action"}},
		{"gollum", []string{"pages"}, nil},
		{"page_build", []string{"build", "id"}, nil},
		{"star", []string{"action", "starred_at"}, nil},
		{"merge_group", []string{"action", "merge_group"}, nil},
		{"membership", []string{"member", "team", "scope"}, nil},
		{"member", []string{"action", "member"}, nil},
		{"organization", []string{"action", "membership"}, nil},
		{"repository_advisory", []string{"action", "repository_advisory"}, nil},
		{"security_advisory", []string{"action", "security_advisory"}, nil},
		{"registry_package", []string{"action", "registry_package"}, nil},
		{"package", []string{"action", "package"}, nil},
		{"branch_protection_rule", []string{"action", "rule"}, nil},
	}
}

// readGitHubMessage reads the type and the dedupe key of a GitHub message. The
// signature covers only the body: anyone who has seen a message can repeat it
// with other headers X-GitHub-Delivery and X-GitHub-Event. So the key is a hash
// of the body, and the type is derived from its members. If the members do not
// tell, the type of the header is used and marked as unsigned.
func readGitHubMessage(h http.Header, body []byte) (signedMessage, error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(body, &members) // any other value has no members
	m := signedMessage{dedupeKey: bodyKey(body), eventType: detectGitHubType(members)}
	if m.eventType == "" {
		m.eventType, m.typeUnsigned = h.Get("X-GitHub-Event"), true
		if m.eventType == "" {
			return signedMessage{}, junctor.Errorf(junctor.CodeInvalid, "the header X-GitHub-Event is missing")
		}
		for _, s := range githubShapes() {
			if s.event == m.eventType {
				return signedMessage{}, junctor.Errorf(junctor.CodeInvalid, "the header X-GitHub-Event is %s, but the message does not have the members of that event", s.event)
			}
		}
	}
	if action := bodyField(body, "action"); action != "" {
		m.eventType += "." + action
	}
	return m, nil
}

// detectGitHubType returns the event type that the members of a message tell;
// "" if they do not.
func detectGitHubType(members map[string]json.RawMessage) string {
	there := func(name string) bool {
		_, ok := members[name]
		return ok
	}
	for _, s := range githubShapes() {
		fits := true
		for _, name := range s.requires {
			// starred_at is null for a removed star. Any other null counts as absent.
			fits = fits && there(name) && (name == "starred_at" || name == "inputs" || !bytes.Equal(members[name], []byte("null")))
		}
		for _, name := range s.excludes {
			fits = fits && !there(name)
		}
		if fits {
			return s.event
		}
	}
	return ""
}
