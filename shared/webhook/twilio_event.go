package webhook

import (
	"maps"
	"strings"

	"engang/shared/document"
)

// twilioKey is, of a form, all that is signed as it was signed. Names and values run together there, and
// into the query, so that whoever holds one delivery can cut it otherwise: that is a repeat with another
// digest, a conflict and no work.
func twilioKey(r reading) string {
	if bracketed(r.Body) {
		return first(twilioEventID, typeAndContent)(r)
	}
	signed, err := twilioSigned(r.Request)
	if err != nil {
		return typeAndContent(r)
	}
	return "form#" + document.Digest([]byte(queryOf(r.URL)+signed))
}

// twilioEventID is that of an event of Event Streams, which follow CloudEvents; nothing else has one.
func twilioEventID(r reading) string {
	if at("/specversion")(r) == "" {
		return ""
	}
	return bounded(at("/id")(r))
}

// A twilioObject is something that Twilio reports about, by the field that names it.
type twilioObject struct {
	kind     string
	id       field
	happened field
	steps    map[string]string // how far it has come, by what happened: a late "sent" is older than "delivered"
}

// twilioObjects stand in this order: a recording is of a call, and both are named.
var twilioObjects = []twilioObject{
	{kind: "conversation", id: sid("/ConversationSid", "CH"), happened: at("/EventType")},
	{kind: "transcription", id: sid("/TranscriptionSid", "TR"), happened: at("/TranscriptionStatus"), steps: twilioSteps},
	{kind: "recording", id: sid("/RecordingSid", "RE"), happened: at("/RecordingStatus"), steps: twilioRecordingSteps},
	{kind: "conference", id: sid("/ConferenceSid", "CF"), happened: at("/StatusCallbackEvent")},
	{kind: "message", id: first(sid("/MessageSid", "SM"), sid("/MessageSid", "MM"), sid("/SmsSid", "SM"), sid("/SmsSid", "MM")), happened: first(at("/MessageStatus"), at("/SmsStatus")), steps: twilioMessageSteps},
	{kind: "call", id: sid("/CallSid", "CA"), happened: at("/CallStatus"), steps: twilioSteps},
}

var (
	twilioMessageSteps = map[string]string{
		"accepted": "1", "scheduled": "1", "queued": "2", "sending": "3", "receiving": "3", "sent": "4", "received": "4",
		"delivered": "5", "undelivered": "5", "failed": "5", "canceled": "5", "read": "6",
	}
	twilioSteps = map[string]string{
		"queued": "1", "initiated": "2", "ringing": "3", "in-progress": "4",
		"completed": "5", "busy": "5", "failed": "5", "no-answer": "5", "canceled": "5", "absent": "5",
	}
)

// twilioRecordingSteps know what comes to the address of an action as well, without a status: the recording is over.
var twilioRecordingSteps = func() map[string]string {
	steps := maps.Clone(twilioSteps)
	steps[""] = twilioSteps["completed"]
	return steps
}()

var sidShape = pattern(`^[A-Z]{2}[0-9a-f]{32}$`)

// sid reads the name of an object of one kind, which holds nothing else that was cut into it.
func sid(pointer, prefix string) field {
	text := prefixed(prefix, at(pointer))
	return func(r reading) string {
		if id := text(r); sidShape().MatchString(id) {
			return id
		}
		return ""
	}
}

// twilioFind is what a delivery is about.
func twilioFind(r reading) twilioObject {
	for _, o := range twilioObjects {
		if o.id(r) != "" {
			return o
		}
	}
	return twilioObject{}
}

// twilioType is made of what Twilio says, which has no name for it: "message.delivered",
// "call.in-progress". Event Streams have one.
func twilioType(r reading) string {
	if at("/specversion")(r) != "" {
		return at("/type")(r)
	}
	o := twilioFind(r)
	if o.kind == "" {
		return ""
	}
	return o.kind + joined(".", o.happened(r))
}

func twilioKind(r reading) string { return twilioFind(r).kind }

func twilioObjectID(r reading) string {
	if o := twilioFind(r); o.kind != "" {
		return o.id(r)
	}
	return ""
}

// twilioVersion is how far the object has come; of a conference the number of the callback.
func twilioVersion(r reading) string {
	if at("/specversion")(r) != "" {
		return at("/time")(r)
	}
	switch o := twilioFind(r); {
	case o.kind == "conference":
		return scalar("/SequenceNumber")(r)
	case o.steps != nil:
		return o.steps[o.happened(r)]
	}
	return ""
}

// twilioCounted tells by the type whether such objects are ordered by how far they have come, or by a number: a status
// that is not known must not be ranked by a time beside that.
func twilioCounted(eventType string) bool {
	kind, _, _ := strings.Cut(eventType, ".")
	for _, o := range twilioObjects {
		if o.kind == kind {
			return o.steps != nil || kind == "conference"
		}
	}
	return false
}

// twilioDated tells whether a delivery has to have a version: those of a conversation have none, and are all ranked by
// when they were received.
func twilioDated(r reading) bool { return at("/specversion")(r) != "" || twilioCounted(r.typ) }

var twilioAccountShape = pattern(`AC[0-9a-f]{32}`)

// twilioAccount is whose account it is; an event of Event Streams may name it only in its source.
func twilioAccount(r reading) string {
	inSource := func(r reading) string {
		if at("/specversion")(r) == "" {
			return ""
		}
		return twilioAccountShape().FindString(at("/source")(r))
	}
	return first(at("/AccountSid"), at("/data/accountSid"), inSource)(r)
}
