package admin

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// describeTypes describes types of other packages to the OpenAPI document which cannot do
// so themselves without importing huma: the values of enumerations, and that an error is a
// Problem. Each type is replaced by one of this file that has a Schema method.
func describeTypes(r huma.Registry) {
	aliasType[huma.ErrorModel, Problem](r)
	aliasType[json.RawMessage, object](r)
	aliasType[time.Duration, duration](r)
	aliasType[junctor.Duration, durationText](r)
	aliasType[junctor.Code, code](r)
	aliasType[junctor.Kind, kind](r)
	aliasType[junctor.EntryPoint, entryPoint](r)
	aliasType[junctor.Status, status](r)
	aliasType[junctor.Mode, mode](r)
	aliasType[junctor.ServerState, serverState](r)
	aliasType[junctor.Transport, transport](r)
	aliasType[junctor.AuthType, authType](r)
	aliasType[junctor.Isolation, isolation](r)
	aliasType[junctor.Credentials, credentials](r)
	aliasType[junctor.UserRole, userRole](r)
	aliasType[junctor.Sources, sources](r)
	aliasType[junctor.OverLimit, overLimit](r)
	aliasType[junctor.Grant, grant](r)
	aliasType[junctor.Scope, scope](r)
	aliasType[[]junctor.Scope, scopeList](r)
	aliasType[[]string, stringList](r)
	aliasType[seal.Secret, secretText](r)
	aliasType[junctor.SourceStyle, sourceStyle](r)
	aliasType[junctor.JSON, anything](r)
	aliasType[junctor.ModelKind, modelKind](r)
	aliasType[agent.Message, turnMessage](r)
	aliasType[agent.Call, turnCall](r)
	aliasType[agent.Result, turnResult](r)
	aliasType[agent.Tool, turnTool](r)
	aliasType[agent.Usage, turnUsage](r)
	aliasType[agent.Role, turnRole](r)
	aliasType[a2ui.Action, surfaceAction](r)
	aliasType[junctor.TurnPolicy, turnPolicy](r)
	aliasType[junctor.RoomApproval, roomApproval](r)
	aliasType[junctor.AuthorKind, authorKind](r)
	aliasType[junctor.MessageCallState, saidState](r)
	aliasType[junctor.RunState, runState](r)
	aliasType[junctor.CallApprovalState, callWord](r)
}

// aliasType makes the registry use the schema of As wherever it meets T.
func aliasType[T, As any](r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[T](), reflect.TypeFor[As]())
}

// enumSchema returns the schema of a string with these values.
func enumSchema[T ~string](values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// object is JSON that is passed through. Members of that type are always objects.
type object json.RawMessage

// Schema implements huma.SchemaProvider.
func (object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// duration is a time.Duration, which JSON has as nanoseconds.
type duration int64

// Schema implements huma.SchemaProvider.
func (duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: "Duration in nanoseconds."}
}

// durationText is a junctor.Duration, which JSON has as a text with a unit.
type durationText string

// Schema implements huma.SchemaProvider.
func (durationText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"5m"}}
}

// stringList is a list of strings that is not null, unlike huma's default for slices.
type stringList []string

// Schema implements huma.SchemaProvider.
func (stringList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// secretText is a value that requests have and answers never do.
type secretText string

// Schema implements huma.SchemaProvider.
func (secretText) Schema(huma.Registry) *huma.Schema {
	one := 1
	return &huma.Schema{Type: huma.TypeString, Format: "password", MinLength: &one, WriteOnly: true}
}

// grant is a grant in its text form, server/item.
type grant string

// Schema implements huma.SchemaProvider.
func (grant) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// overLimit describes the values of junctor.OverLimit.
type overLimit string

// Schema implements huma.SchemaProvider.
func (overLimit) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.OverLimitReject, junctor.OverLimitQueue)
}

// scope describes the values of junctor.Scope.
type scope string

// Schema implements huma.SchemaProvider.
func (scope) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.Scopes()...) }

// scopeList describes a list of scopes, each of which is one of a fixed set.
type scopeList []string

// Schema implements huma.SchemaProvider.
func (scopeList) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: scope("").Schema(r)}
}

// userRole describes the values of junctor.UserRole.
type userRole string

// Schema implements huma.SchemaProvider.
func (userRole) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.UserRoles()...) }

// sources describes the values of junctor.Sources.
type sources string

// Schema implements huma.SchemaProvider.
func (sources) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.SourcesGenerated, junctor.SourcesBYO, junctor.SourcesBoth)
}

// code describes the values of junctor.Code.
type code string

// Schema implements huma.SchemaProvider.
func (code) Schema(huma.Registry) *huma.Schema { return enumSchema(allCodes()...) }

// allCodes lists the values of Problem.code and Call.code.
func allCodes() []junctor.Code {
	return []junctor.Code{
		junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound, junctor.CodeInvalid, junctor.CodeConflict, junctor.CodePrecondition,
		junctor.CodeLimited, junctor.CodeTooLarge, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeUnreachable,
		junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeInternal,
	}
}

// kind describes the values of junctor.Kind.
type kind string

// Schema implements huma.SchemaProvider.
func (kind) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.KindTool, junctor.KindResource, junctor.KindPrompt, junctor.KindCompletion, junctor.KindSubscription,
		junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel, junctor.KindServer, junctor.KindAgent)
}

// entryPoint describes the values of junctor.EntryPoint.
type entryPoint string

// Schema implements huma.SchemaProvider.
func (entryPoint) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.EntryMCP, junctor.EntrySSE, junctor.EntryStdio, junctor.EntryPlain, junctor.EntryBridge, junctor.EntryAdmin, junctor.EntryAppView, junctor.EntryTurn, junctor.EntryDelivery)
}

// modelKind describes the values of junctor.ModelKind.
type modelKind string

// Schema implements huma.SchemaProvider.
func (modelKind) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.ModelAnthropic, junctor.ModelOpenAI, junctor.ModelA2A)
}

// turnRole describes the values of agent.Role.
type turnRole string

// Schema implements huma.SchemaProvider.
func (turnRole) Schema(huma.Registry) *huma.Schema {
	return enumSchema(agent.RoleUser, agent.RoleAssistant, agent.RoleTool)
}

// status describes the values of junctor.Status.
type status string

// Schema implements huma.SchemaProvider.
func (status) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.Statuses()...) }

// mode describes the values of junctor.Mode.
type mode string

// Schema implements huma.SchemaProvider.
func (mode) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.ModeBuiltin, junctor.ModeBYO, junctor.ModeGenerated, junctor.ModeDiscovered)
}

// serverState describes the values of junctor.ServerState.
type serverState string

// Schema implements huma.SchemaProvider.
func (serverState) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.StateActive, junctor.StateInactive, junctor.StateError)
}

// transport describes the values of junctor.Transport.
type transport string

// Schema implements huma.SchemaProvider.
func (transport) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.TransportHTTP, junctor.TransportSSE, junctor.TransportStdio)
}

// authType describes the values of junctor.AuthType.
type authType string

// Schema implements huma.SchemaProvider.
func (authType) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.AuthNone, junctor.AuthBearer, junctor.AuthAPIKey, junctor.AuthBasic, junctor.AuthOAuthClient, junctor.AuthOAuth)
}

// credentials describes the values of junctor.Credentials.
type credentials string

// Schema implements huma.SchemaProvider.
func (credentials) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.CredentialsShared, junctor.CredentialsPerUser)
}

// isolation describes the values of junctor.Isolation.
type isolation string

// Schema implements huma.SchemaProvider.
func (isolation) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.IsolationShared, junctor.IsolationSession, junctor.IsolationUser)
}

// sourceStyle describes the values of junctor.SourceStyle.
type sourceStyle string

// Schema implements huma.SchemaProvider.
func (sourceStyle) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.SourceStyles()...) }

// anything is JSON of any type.
type anything json.RawMessage

// Schema implements huma.SchemaProvider.
func (anything) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// turnPolicy describes the values of junctor.TurnPolicy.
type turnPolicy string

// Schema implements huma.SchemaProvider.
func (turnPolicy) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.TurnPolicies()...) }

// roomApproval describes the values of junctor.RoomApproval.
type roomApproval string

// Schema implements huma.SchemaProvider.
func (roomApproval) Schema(huma.Registry) *huma.Schema { return enumSchema(junctor.RoomApprovals()...) }

// authorKind describes the values of junctor.AuthorKind.
type authorKind string

// Schema implements huma.SchemaProvider.
func (authorKind) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.AuthorUser, junctor.AuthorAgent, junctor.AuthorSystem)
}

// saidState describes the values of junctor.MessageCallState.
type saidState string

// Schema implements huma.SchemaProvider.
func (saidState) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.MessageCallStates()...)
}

// runState describes the values of junctor.RunState.
type runState string

// Schema implements huma.SchemaProvider.
func (runState) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.RunRunning, junctor.RunWaiting, junctor.RunDone, junctor.RunFailed, junctor.RunCancelled, junctor.RunLost)
}

// callWord describes the values of junctor.CallApprovalState.
type callWord string

// Schema implements huma.SchemaProvider.
func (callWord) Schema(huma.Registry) *huma.Schema {
	return enumSchema(junctor.CallOpen, junctor.CallAllowed, junctor.CallDenied)
}
