#!/bin/sh
# make.sh - the certificates of the TLS tests, good for a hundred years: authorities ca and other, and what they signed.
set -eu
cd "$(dirname "$0")"
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj "/CN=stepscope test $1" \
		-keyout "$1.key" -out "$1.crt" 2>/dev/null
}
signed() {	# signed NAME AUTHORITY NAMES
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
	echo "subjectAltName=$3" >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 36500 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
	rm "$1.csr" "$1.ext"
}
authority ca
authority other
signed server ca DNS:localhost,IP:127.0.0.1
signed client ca DNS:client
signed imposter other DNS:client
rm -f ca.key other.key ./*.srl
