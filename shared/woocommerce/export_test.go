package woocommerce

import "time"

// Within makes shops whose pages may be smaller, and take less time, than usual.
func (s *Shops) Within(bytes int64, d time.Duration) *Shops {
	s.bytes, s.time = bytes, d
	return s
}
