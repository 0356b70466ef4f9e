package webhook

import (
	"net/http"
	"slices"
)

// Handshake answers a sender's unsigned ping. It is asked first, whatever the method and the secrets;
// what it answers is no event and must not be stored.
func (s Scheme) Handshake(req Request) (Pong, bool) {
	if s.handshake == nil || !slices.Contains(s.Methods(), req.Method) {
		return Pong{}, false
	}
	return s.handshake(req)
}

// SignedHandshake answers a ping or challenge that is signed as every delivery is: it is asked with the
// document of a verified delivery, before its type is looked up. What it answers is no event and must
// not be stored.
func (s Scheme) SignedHandshake(req Request, doc any) (Pong, bool) {
	if s.greeting == nil || req.Method != http.MethodPost {
		return Pong{}, false
	}
	return s.greeting(req, doc)
}

// A Reply is the answer by which a sender knows that its delivery was taken, whatever became of it.
type Reply struct {
	Status      int    // between 200 and 299
	Body        []byte // in the sender's own format; nil: the caller's own, unless Empty
	ContentType string // of Body
	Empty       bool   // no body: the sender would show it, or act on it
}

// Reply is what the sender needs to hear on success: 200 with any body for most.
func (s Scheme) Reply() Reply {
	if s.reply.Status == 0 {
		return Reply{Status: http.StatusOK}
	}
	return s.reply
}
