# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by the openssl command when they run: an authority, and what it signs."""
import pathlib
import subprocess


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder, self.name = pathlib.Path(folder), name
        self.certificate = self.folder / f"{name}.pem"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                      f"/CN={name}", "-keyout", self.folder / f"{name}.key", "-out", self.certificate)

    def files(self, who, days=2, unit=None, renew=False, at=()):
        """Certificate and key, signed by this authority. `unit`: the organizational unit of its subject. `renew`: with the key as it is.
        `at`: addresses of `who` besides this machine's."""
        key, request, made, extra = (self.folder / f"{self.name}-{who}.{end}" for end in ("key", "csr", "crt", "ext"))
        names = ",".join(["DNS:localhost", "IP:127.0.0.1", *(f"IP:{address}" for address in at)])
        extra.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nauthorityKeyIdentifier=keyid\n")
        with_key = ["-key", key] if renew else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key]
        self._openssl("req", "-new", *with_key, "-subj", f"/CN={who}" + (f"/OU={unit}" if unit else ""), "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.folder / f"{self.name}.key",
                      "-CAcreateserial", "-days", days, "-extfile", extra, "-out", made)
        return made, key

    def options(self, who, days=2, ca=None, unit=None, at=()):
        """The options of a program that shows a certificate of this authority; it takes those of `ca` (else the same)."""
        made, key = self.files(who, days, unit, at=at)
        return ["--tls-certificate", made, "--tls-key", key, "--tls-ca", (ca or self).certificate]

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=120)
