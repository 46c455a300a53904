package junctor

import "time"

// HealthState is whether the tools of a server can be used now.
type HealthState string

// The states of health.
const (
	HealthOK      HealthState = "ok"      // it answered last
	HealthUnknown HealthState = "unknown" // nothing has been sent to it since the instance started
	HealthBroken  HealthState = "broken"  // a client that calls its tools gets an error, or does not see them
	HealthOff     HealthState = "off"     // it is switched off
)

// ServerHealth is what is known of a server without reaching it, as one principal may
// see it.
type ServerHealth struct {
	Server  string      `json:"server"`
	State   HealthState `json:"state" enum:"ok,unknown,broken,off"`
	Problem string      `json:"problem,omitempty" doc:"What is broken."`
	Fix     string      `json:"fix,omitempty" doc:"What to do about it."`

	// Missing are references that cannot be read. Whoever may not read how the server
	// is reached does not see them.
	Missing       []string   `json:"missing,omitempty" nullable:"false" doc:"References of its connection that cannot be read now, such as env:TOKEN: variables that are not set and files that are not there."`
	Login         LoginState `json:"login,omitempty" doc:"Of a server that users log in to: the caller's login with credentials per-user, otherwise the shared one."`
	CredentialsAt time.Time  `json:"credentials_at,omitzero" doc:"When its stored credentials were entered, or the login was made."`

	Tools  int `json:"tools" doc:"The tools that the caller sees."`
	Tokens int `json:"tokens" doc:"What the definitions of these tools cost a model in a list of all of them, as an estimate."`
}
