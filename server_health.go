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
	Problem string      `json:"problem,omitempty" doc:"What is wrong."`
	Fix     string      `json:"fix,omitempty" doc:"How to fix it."`

	// Missing are references that cannot be read. A caller who may not read how the server
	// is reached does not see them.
	Missing       []string   `json:"missing,omitempty" nullable:"false" doc:"References of the connection that cannot be read, such as env:TOKEN: unset variables and missing files."`
	Login         LoginState `json:"login,omitempty" doc:"Login state of a server that users log in to: the caller's login with credentials per-user, otherwise the shared login."`
	CredentialsAt time.Time  `json:"credentials_at,omitzero" doc:"When the stored credentials were entered, or the login was made."`

	Tools  int `json:"tools" doc:"Number of tools that the caller sees."`
	Tokens int `json:"tokens" doc:"Estimated number of tokens that the definitions of these tools use in a model's context."`
}
