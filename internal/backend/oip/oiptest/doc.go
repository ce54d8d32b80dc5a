// Package oiptest has a model for tests of clients and servers of the protocol.
package oiptest
