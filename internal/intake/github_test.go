package intake

import (
	"encoding/json"
	"testing"
)

// Every event is known by the members that GitHub documents for it.
func TestGitHubTypes(t *testing.T) {
	t.Parallel()
	for want, body := range map[string]string{
		"ping":                        `{"zen":"x","hook_id":1,"hook":{}}`,
		"push":                        `{"ref":"refs/heads/main","before":"a","after":"b","commits":[],"repository":{},"pusher":{},"head_commit":null}`,
		"create":                      `{"ref":"v1","ref_type":"tag","master_branch":"main","description":null,"pusher_type":"user"}`,
		"delete":                      `{"ref":"v1","ref_type":"tag","pusher_type":"user"}`,
		"issues":                      `{"action":"labeled","issue":{},"label":{}}`,
		"issue_comment":               `{"action":"created","issue":{},"comment":{}}`,
		"pull_request":                `{"action":"labeled","number":1,"pull_request":{},"label":{}}`,
		"pull_request_review":         `{"action":"submitted","review":{},"pull_request":{}}`,
		"pull_request_review_comment": `{"action":"created","comment":{},"pull_request":{}}`,
		"pull_request_review_thread":  `{"action":"resolved","thread":{},"pull_request":{}}`,
		"commit_comment":              `{"action":"created","comment":{}}`,
		"discussion":                  `{"action":"created","discussion":{}}`,
		"discussion_comment":          `{"action":"created","discussion":{},"comment":{}}`,
		"deployment":                  `{"action":"created","deployment":{},"workflow":null,"workflow_run":null}`,
		"deployment_status":           `{"action":"created","deployment":{},"deployment_status":{},"check_run":{},"workflow_run":{}}`,
		"workflow_run":                `{"action":"completed","workflow_run":{},"workflow":{}}`,
		"workflow_job":                `{"action":"queued","workflow_job":{},"deployment":{}}`,
		"workflow_dispatch":           `{"inputs":null,"ref":"refs/heads/main","workflow":"x.yml"}`,
		"repository_dispatch":         `{"action":"x","branch":"main","client_payload":{"issue":1}}`,
		"check_run":                   `{"action":"created","check_run":{}}`,
		"check_suite":                 `{"action":"completed","check_suite":{}}`,
		"status":                      `{"id":1,"sha":"a","name":"r","context":"ci","state":"success","branches":[],"commit":{}}`,
		"release":                     `{"action":"published","release":{}}`,
		"fork":                        `{"forkee":{}}`,
		"gollum":                      `{"pages":[]}`,
		"page_build":                  `{"id":1,"build":{}}`,
		"star":                        `{"action":"deleted","starred_at":null}`,
		"member":                      `{"action":"added","member":{}}`,
		"membership":                  `{"action":"added","scope":"team","member":{},"team":{}}`,
		"organization":                `{"action":"member_added","membership":{},"organization":{}}`,
		"":                            `{"action":"created","repository":{},"sender":{},"organization":{},"installation":{}}`,
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			t.Fatal(err)
		}
		if got := detectGitHubType(members); got != want {
			t.Errorf("%s is taken for %q, not %q", body, got, want)
		}
	}
}
