package inbox

import "time"

// A Letter is a message of the dead-letter queue, as it was looked at. With a notice it is one of ours, which
// says why something was set aside. With an event alone it is a reference that the queue itself set aside,
// because it was received too often: that says nothing by itself, the event is open or was settled since. With
// neither it is nothing of ours.
type Letter struct {
	ID       string // of the message
	Handle   string // gives it back or deletes it, while it is hidden
	SentAt   time.Time
	Receives int // looks at it among them
	Bytes    int
	Event    EventID
	Notice   *Notice
}
