package wire

// Methods of both eras.
const (
	MethodInitialize             = "initialize" // legacy
	MethodPing                   = "ping"       // legacy
	MethodToolsList              = "tools/list"
	MethodToolsCall              = "tools/call"
	MethodResourcesList          = "resources/list"
	MethodResourcesTemplatesList = "resources/templates/list"
	MethodResourcesRead          = "resources/read"
	MethodResourcesSubscribe     = "resources/subscribe"   // legacy
	MethodResourcesUnsubscribe   = "resources/unsubscribe" // legacy
	MethodPromptsList            = "prompts/list"
	MethodPromptsGet             = "prompts/get"
	MethodCompletionComplete     = "completion/complete"
	MethodLoggingSetLevel        = "logging/setLevel"     // legacy
	MethodServerDiscover         = "server/discover"      // modern
	MethodSubscriptionsListen    = "subscriptions/listen" // modern

	// Asked by servers: legacy as requests, modern inside input_required.
	MethodElicitationCreate     = "elicitation/create"
	MethodSamplingCreateMessage = "sampling/createMessage"
	MethodRootsList             = "roots/list"

	// The tasks of 2025-11-25, and of the modern extension.
	MethodTasksGet    = "tasks/get"
	MethodTasksResult = "tasks/result" // legacy
	MethodTasksList   = "tasks/list"   // legacy
	MethodTasksUpdate = "tasks/update" // modern
	MethodTasksCancel = "tasks/cancel"
)

// Notifications of both eras.
const (
	NoteInitialized               = "notifications/initialized" // legacy
	NoteCancelled                 = "notifications/cancelled"
	NoteProgress                  = "notifications/progress"
	NoteMessage                   = "notifications/message"
	NoteToolsListChanged          = "notifications/tools/list_changed"
	NotePromptsListChanged        = "notifications/prompts/list_changed"
	NoteResourcesListChanged      = "notifications/resources/list_changed"
	NoteResourceUpdated           = "notifications/resources/updated"
	NoteRootsListChanged          = "notifications/roots/list_changed"         // legacy
	NoteElicitationComplete       = "notifications/elicitation/complete"       // legacy
	NoteSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged" // modern
	NoteTasksStatus               = "notifications/tasks/status"               // legacy
	NoteTasks                     = "notifications/tasks"                      // modern
)

// Keys of _meta. Those below MetaPrefix hold for one hop: each side writes its
// own and passes none on.
const (
	MetaPrefix             = "io.modelcontextprotocol/"
	MetaProtocolVersion    = MetaPrefix + "protocolVersion"
	MetaClientCapabilities = MetaPrefix + "clientCapabilities"
	MetaClientInfo         = MetaPrefix + "clientInfo"
	MetaServerInfo         = MetaPrefix + "serverInfo"
	MetaLogLevel           = MetaPrefix + "logLevel"
	MetaSubscriptionID     = MetaPrefix + "subscriptionId"
	MetaRelatedTask        = MetaPrefix + "related-task"             // legacy
	MetaImmediateResponse  = MetaPrefix + "model-immediate-response" // legacy: not of one hop, but for the model
	MetaProgressToken      = "progressToken"
	MetaJunctorVersion     = "junctor/version"   // which version of a tool is meant
	MetaJunctorAwaited     = "junctor/awaited"   // in a list: the servers that have not answered yet, and so are not in it
	MetaJunctorRoles       = "junctor/roles"     // in a tool's definition: the roles that it is for
	MetaJunctorTool        = "junctor/tool"      // in the result of call_tool: the tool that was called, whose page comes along
	MetaJunctorNextPage    = "junctor/next-page" // in a tool's result: what changes in the arguments for the next page of it

	// W3C trace context, passed on.
	MetaTraceparent = "traceparent"
	MetaTracestate  = "tracestate"
	MetaBaggage     = "baggage"
)

// Values of resultType, which every modern result has.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task"
)

// ExtensionTasks is the modern form of tasks, as capabilities name it.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// ExtensionUI is MCP Apps, as capabilities name it, and MediaTypeApp the kind of
// page that it is about.
const (
	ExtensionUI  = "io.modelcontextprotocol/ui"
	MediaTypeApp = "text/html;profile=mcp-app"
)

// States of a task. The last three are ends.
const (
	TaskWorking       = "working"
	TaskInputRequired = "input_required"
	TaskCompleted     = "completed"
	TaskFailed        = "failed"
	TaskCancelled     = "cancelled"
)

// internWord gives b as a string without allocating one for the words that nearly
// every message is made of: methods, versions and log levels.
func internWord(b []byte) string {
	switch string(b) {
	case "":
		return ""
	case MethodInitialize:
		return MethodInitialize
	case MethodPing:
		return MethodPing
	case MethodToolsList:
		return MethodToolsList
	case MethodToolsCall:
		return MethodToolsCall
	case MethodResourcesList:
		return MethodResourcesList
	case MethodResourcesTemplatesList:
		return MethodResourcesTemplatesList
	case MethodResourcesRead:
		return MethodResourcesRead
	case MethodResourcesSubscribe:
		return MethodResourcesSubscribe
	case MethodResourcesUnsubscribe:
		return MethodResourcesUnsubscribe
	case MethodPromptsList:
		return MethodPromptsList
	case MethodPromptsGet:
		return MethodPromptsGet
	case MethodCompletionComplete:
		return MethodCompletionComplete
	case MethodLoggingSetLevel:
		return MethodLoggingSetLevel
	case MethodServerDiscover:
		return MethodServerDiscover
	case MethodSubscriptionsListen:
		return MethodSubscriptionsListen
	case MethodElicitationCreate:
		return MethodElicitationCreate
	case MethodSamplingCreateMessage:
		return MethodSamplingCreateMessage
	case MethodRootsList:
		return MethodRootsList
	case MethodTasksGet:
		return MethodTasksGet
	case MethodTasksResult:
		return MethodTasksResult
	case MethodTasksList:
		return MethodTasksList
	case MethodTasksUpdate:
		return MethodTasksUpdate
	case MethodTasksCancel:
		return MethodTasksCancel
	case NoteInitialized:
		return NoteInitialized
	case NoteCancelled:
		return NoteCancelled
	case NoteProgress:
		return NoteProgress
	case NoteMessage:
		return NoteMessage
	case NoteToolsListChanged:
		return NoteToolsListChanged
	case NotePromptsListChanged:
		return NotePromptsListChanged
	case NoteResourcesListChanged:
		return NoteResourcesListChanged
	case NoteResourceUpdated:
		return NoteResourceUpdated
	case NoteRootsListChanged:
		return NoteRootsListChanged
	case NoteElicitationComplete:
		return NoteElicitationComplete
	case NoteSubscriptionsAcknowledged:
		return NoteSubscriptionsAcknowledged
	case NoteTasksStatus:
		return NoteTasksStatus
	case NoteTasks:
		return NoteTasks
	case V20241105:
		return V20241105
	case V20250326:
		return V20250326
	case V20250618:
		return V20250618
	case V20251125:
		return V20251125
	case V20260728:
		return V20260728
	case LevelDebug:
		return LevelDebug
	case LevelInfo:
		return LevelInfo
	case LevelNotice:
		return LevelNotice
	case LevelWarning:
		return LevelWarning
	case LevelError:
		return LevelError
	case LevelCritical:
		return LevelCritical
	case LevelAlert:
		return LevelAlert
	case LevelEmergency:
		return LevelEmergency
	}
	return string(b)
}
