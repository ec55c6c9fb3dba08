"""ctk makes NVIDIA GPUs work in containers on a Linux host; importing the package does no work."""

__version__ = "0.1.0"
