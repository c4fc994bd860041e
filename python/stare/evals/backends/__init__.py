"""Where responses come from: one protocol, one module a back end, imported when it is used."""

from stare.evals.backends.protocol import Backend, Request, Response, Sampling

__all__ = ["Backend", "Request", "Response", "Sampling"]
