package junctor

import "time"

// Trace is one attempt to log in to a server, to renew or to end that login,
// step by step. It contains no secrets.
type Trace struct {
	ID      string      `json:"id"`
	Server  string      `json:"server"`
	User    string      `json:"user,omitempty"` // the user whose login it is; absent for a shared login
	What    TraceKind   `json:"what"`
	At      time.Time   `json:"at"`
	OK      bool        `json:"ok"`
	Verdict string      `json:"verdict"`          // result, in one sentence
	Remedy  string      `json:"remedy,omitempty"` // what to do about it
	Steps   []TraceStep `json:"steps"`
}

// TraceKind is what was attempted.
type TraceKind string

// The kinds of traces.
const (
	TraceBegin   TraceKind = "begin"   // discover the authorization server and choose the client
	TraceFinish  TraceKind = "finish"  // exchange the answer of the authorization server for a token
	TraceRefresh TraceKind = "refresh" // renew a token that expires
	TraceToken   TraceKind = "token"   // a token without a person: client credentials, an assertion
	TraceLogout  TraceKind = "logout"  // revoke the tokens
	TraceCall    TraceKind = "call"    // a call with a new token, which the server refused
)

// TraceStep is one step of a Trace.
type TraceStep struct {
	Name    string            `json:"name"`
	Request string            `json:"request,omitempty"` // method and URL; absent if nothing was sent
	Sent    map[string]string `json:"sent,omitempty"`    // the sent form, with secrets masked
	Status  int               `json:"status,omitempty"`  // HTTP status of the response; absent if there was none
	Answer  string            `json:"answer,omitempty"`  // truncated body of the response, with secrets masked
	TookMS  float64           `json:"took_ms,omitempty"`
	OK      bool              `json:"ok"`
	Verdict string            `json:"verdict"`
	Remedy  string            `json:"remedy,omitempty"`
}

// ServerLogin is the state of a login at a server. It contains no token.
type ServerLogin struct {
	State     LoginState `json:"state"`
	User      string     `json:"user,omitempty"` // the user whose login it is; absent for a shared login
	Issuer    string     `json:"issuer,omitempty"`
	Resource  string     `json:"resource,omitempty"`
	ClientID  string     `json:"client_id,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	Since     time.Time  `json:"since,omitzero"`
	ExpiresAt time.Time  `json:"expires_at,omitzero"` // of the access token
	Renewable bool       `json:"renewable"`           // it is renewed without asking the user
	Reason    string     `json:"reason,omitempty"`    // why it ended
}

// LoginState is the state of a login at a server.
type LoginState string

// States of a login.
const (
	LoginNone  LoginState = "none"
	LoginLive  LoginState = "live"
	LoginEnded LoginState = "ended" // the server or the authorization server no longer accepts it
)
