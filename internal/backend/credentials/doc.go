// Package credentials reads what proves who somebody is over a network: certificates, authorities and
// keys, from files.
//
//	config, err := credentials.TLS{CA: "authority.pem"}.Client()
//	key, err := credentials.ReadKey("key.txt")
//
// Errors are of the fields tls_ca, tls_cert, tls_key and token_file. No text has a key.
package credentials
