package junctor

import "time"

// Trace is one attempt to log in to a server, to renew that login or to end it,
// step by step. Nothing secret is in it.
type Trace struct {
	ID      string      `json:"id"`
	Server  string      `json:"server"`
	User    string      `json:"user,omitempty"` // whose login it is; absent where it is everybody's
	What    TraceKind   `json:"what"`
	At      time.Time   `json:"at"`
	OK      bool        `json:"ok"`
	Verdict string      `json:"verdict"`          // what came of it, in a sentence
	Remedy  string      `json:"remedy,omitempty"` // what to do about it
	Steps   []TraceStep `json:"steps"`
}

// TraceKind says what was attempted.
type TraceKind string

// What a trace is of.
const (
	TraceBegin   TraceKind = "begin"   // finding out where to log in, and as which client
	TraceFinish  TraceKind = "finish"  // from the answer of the authorization server to a token
	TraceRefresh TraceKind = "refresh" // a new token for one that ends
	TraceToken   TraceKind = "token"   // a token without a person: client credentials, an assertion
	TraceLogout  TraceKind = "logout"  // giving the tokens back
	TraceCall    TraceKind = "call"    // a call with a new token, which the server refused
)

// TraceStep is one step of a Trace.
type TraceStep struct {
	Name    string            `json:"name"`
	Request string            `json:"request,omitempty"` // method and address; absent where nothing was sent
	Sent    map[string]string `json:"sent,omitempty"`    // the form; what is secret is masked
	Status  int               `json:"status,omitempty"`  // of the answer; absent where there was none
	Answer  string            `json:"answer,omitempty"`  // its body, cut; what is secret is masked
	TookMS  float64           `json:"took_ms,omitempty"`
	OK      bool              `json:"ok"`
	Verdict string            `json:"verdict"`
	Remedy  string            `json:"remedy,omitempty"`
}

// ServerLogin is how a login at a server stands. It holds no token.
type ServerLogin struct {
	State     LoginState `json:"state"`
	User      string     `json:"user,omitempty"` // whose it is; absent where it is everybody's
	Issuer    string     `json:"issuer,omitempty"`
	Resource  string     `json:"resource,omitempty"`
	ClientID  string     `json:"client_id,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	Since     time.Time  `json:"since,omitzero"`
	ExpiresAt time.Time  `json:"expires_at,omitzero"` // of the access token
	Renewable bool       `json:"renewable"`           // it is renewed without a person
	Reason    string     `json:"reason,omitempty"`    // why it ended
}

// LoginState says whether there is a login at a server.
type LoginState string

// States of a login.
const (
	LoginNone  LoginState = "none"
	LoginLive  LoginState = "live"
	LoginEnded LoginState = "ended" // it was there, and is not taken any more
)
