package wire

// scanParams scans the params object and picks up what Message has room for.
func (m *Message) scanParams(s *scanner) {
	o := s.openObject(1)
	for s.nextMember(&o) {
		var buf [64]byte
		key := s.b[o.key.from:o.key.to]
		if o.key.escaped {
			key = unescapeKey(buf[:0], key)
		}
		start := s.i
		if string(key) == "_meta" && start < len(s.b) && s.b[start] == '{' {
			m.scanMeta(s)
			m.Meta = s.b[start:s.i]
			continue
		}
		s.value(2)
		if s.err != nil {
			return
		}
		raw := s.b[start:s.i]
		switch string(key) {
		case "name":
			m.HasName = m.text(&m.Name, raw, "params.name")
		case "uri":
			m.HasURI = m.text(&m.URI, raw, "params.uri")
		case "taskId":
			m.HasTaskID = m.text(&m.TaskID, raw, "params.taskId")
		case "task":
			m.object(&m.Task, raw, "params.task")
		case "arguments":
			m.object(&m.Arguments, raw, "params.arguments")
		case "version":
			m.text(&m.Version, raw, "params.version")
		case "cursor":
			m.HasCursor = m.text(&m.Cursor, raw, "params.cursor")
		case "level":
			m.text(&m.Level, raw, "params.level")
		case "ref":
			m.object(&m.Ref, raw, "params.ref")
		case "argument":
			m.object(&m.Argument, raw, "params.argument")
		case "context":
			m.object(&m.Context, raw, "params.context")
		case "inputResponses":
			m.object(&m.InputResponses, raw, "params.inputResponses")
		case "requestState":
			m.HasRequestState = m.text(&m.RequestState, raw, "params.requestState")
		case "requestId":
			m.token(&m.RequestID, raw, "params.requestId")
		case "reason":
			m.text(&m.Reason, raw, "params.reason")
		case "notifications":
			m.object(&m.Notifications, raw, "params.notifications")
		case "progressToken":
			m.token(&m.Token, raw, "params.progressToken")
		case "protocolVersion":
			m.text(&m.ProtocolVersion, raw, "params.protocolVersion")
		case "capabilities":
			m.object(&m.Capabilities, raw, "params.capabilities")
		case "clientInfo":
			m.object(&m.ClientInfo, raw, "params.clientInfo")
		case "_meta":
			m.object(&m.Meta, raw, "params._meta")
		default:
			m.twin("params.", key, "name", "uri", "taskId", "task", "arguments", "_meta", "version", "ref", "inputResponses", "requestState", "requestId")
		}
	}
}

func (m *Message) scanMeta(s *scanner) {
	o := s.openObject(2)
	for s.nextMember(&o) {
		var buf [64]byte
		key := s.b[o.key.from:o.key.to]
		if o.key.escaped {
			key = unescapeKey(buf[:0], key)
		}
		start := s.i
		s.value(3)
		if s.err != nil {
			return
		}
		raw := s.b[start:s.i]
		switch string(key) {
		case MetaProtocolVersion:
			m.HasMetaVersion = m.text(&m.MetaVersion, raw, "params._meta."+MetaProtocolVersion)
		case MetaClientCapabilities:
			m.HasMetaCapabilities = m.object(&m.MetaCapabilities, raw, "params._meta."+MetaClientCapabilities)
		case MetaClientInfo:
			m.object(&m.MetaClientInfo, raw, "params._meta."+MetaClientInfo)
		case MetaLogLevel:
			m.text(&m.MetaLogLevel, raw, "params._meta."+MetaLogLevel)
		case MetaProgressToken:
			m.token(&m.ProgressToken, raw, "params._meta."+MetaProgressToken)
		case MetaSubscriptionID:
			m.token(&m.SubscriptionID, raw, "params._meta."+MetaSubscriptionID)
		case MetaJunctorVersion:
			m.text(&m.ToolVersion, raw, "params._meta."+MetaJunctorVersion)
		default:
			m.twin("params._meta.", key, MetaProtocolVersion, MetaClientCapabilities, MetaLogLevel, MetaProgressToken, MetaJunctorVersion)
		}
	}
}

// wrong notes that a member is not what it should be. Null counts as absent:
// many clients write their empty fields so.
func (m *Message) wrong(name string, raw []byte) bool {
	if m.Wrong == "" && !IsNull(raw) {
		m.Wrong = name
	}
	return false
}

func (m *Message) text(to *string, raw []byte, name string) bool {
	if raw[0] != '"' {
		return m.wrong(name, raw)
	}
	*to = internString(raw)
	return true
}

func (m *Message) object(to *[]byte, raw []byte, name string) bool {
	if raw[0] != '{' {
		return m.wrong(name, raw)
	}
	*to = raw
	return true
}

func (m *Message) token(to *[]byte, raw []byte, name string) {
	if !isID(raw) {
		m.wrong(name, raw)
		return
	}
	*to = raw
}

// twin notes a member that a reader who ignores case would take for one of
// names, even where it is null.
func (m *Message) twin(prefix string, key []byte, names ...string) {
	if m.Wrong == "" && twinOf(key, names...) != "" {
		m.Wrong = prefix + string(key)
	}
}
